#!/usr/bin/env bash
# Every step on the embedded corpus, as a user would type it; called by `make demo`. A second run
# continues: extraction and training do what is missing, builds replace what they wrote.
set -euo pipefail
cd "$(dirname "$0")/../.."
lake="${LAKE:-lake}"
runs="${RUNS:-runs/demo}"
report="${REPORT:-report}"
log() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }
table_exists() { python -m etl.lake history "$1" lake="$lake" >/dev/null 2>&1; } # TABLE
mkdir -p "$runs"

log "First pairs: adnominal extract source=wikipedia …"
python -m adnominal extract source=wikipedia input=conf/demo/wikipedia.xml corpus=demo-wikipedia \
    examples=3 keep_text=true lake="$lake"
python -m etl.lake show amod_pairs limit=5 lake="$lake"

log "Pairs, knowledge, four datasets: python etl/pipeline.py conf/demo/pipeline.yaml"
python etl/pipeline.py conf/demo/pipeline.yaml lake="$lake"

if python -c "import adnominal.etl.parsing.fast._fast" 2>/dev/null; then
    log "The same articles by the compiled extractor, in a separate lake: parser=fast"
    python etl/extract_amod.py source=wikipedia input=conf/demo/wikipedia.xml corpus=demo-wikipedia \
        parser=fast lake="$runs/fast"
    for one_lake in "$lake" "$runs/fast"; do
        python -m etl.lake export amod_pairs format=tsv out="$runs/pairs.tsv" overwrite=true lake="$one_lake" \
            where="corpus = 'demo-wikipedia'"
        printf '%s: %s distinct pairs\n' "$one_lake" "$(($(wc -l <"$runs/pairs.tsv") - 1))"
    done
fi

if ! table_exists adept; then
    log "Labels of ADEPT, by simulated annotators: python etl/annotate_adept.py …"
    again=false
    if table_exists adept_batches; then again=true; fi
    batch="$runs/annotation/demo.csv"
    rm -rf "$runs/annotation"
    python etl/annotate_adept.py export batch="$batch" again="$again" edition=demo gold=0 lake="$lake"
    python etl/annotate_adept.py simulate batch="$batch" out="$runs/annotation/answers.csv" \
        careful=20 noisy=5 lake="$lake"
    python etl/annotate_adept.py import batch="$runs/annotation/answers.csv" \
        key="$runs/annotators.key" lake="$lake"
    python etl/annotate_adept.py finish edition=demo report="$runs/annotation/agreement.json" lake="$lake"
fi

processes="$(nvidia-smi -L 2>/dev/null | wc -l || true)"
if [ "$processes" -eq 0 ]; then
    export DS_ACCELERATOR=cpu
    # A single process on all cores; a second one would take as long to start as it saves.
    processes=1
    export OMP_NUM_THREADS="$(nproc)"
fi
log "Fine-tuning: deepspeed --num_gpus $processes training/finetune.py conf/training/asp_demo.yaml"
deepspeed --log_level error --num_gpus "$processes" training/finetune.py conf/training/asp_demo.yaml \
    lake="$lake" out="$runs/asp"

name=smollm2-135m-instruct-q4
model="${MODEL:-build/models/$name}"
if [ ! -d "$model" ]; then
    log "The language model that is asked next, once (100 MB): python training/convert.py model=$name"
    mkdir -p "$(dirname "$model")"
    python training/convert.py model="$name" out="$model" || echo "Without it, no model is asked."
fi
if [ -d "$model" ]; then
    log "A small language model writes its answers: python training/prompt.py conf/training/adept_chat.yaml"
    python training/prompt.py conf/training/adept_chat.yaml edition=demo limit=8 \
        max_gen_toks=24 precision=fp32 batch_size=8 model="$model" lake="$lake" out="$runs/prompt" \
        cache="$runs/answers"
fi

log "The papers' tables and figures: python -m analysis.report"
python -m analysis.report lake="$lake" out="$report"

log "python -m etl.lake why false key"
python -m etl.lake why false key lake="$lake"

log "python -m etl.lake list"
python -m etl.lake list lake="$lake"

printf '\nDone in %d min %02d s.\n' "$((SECONDS / 60))" "$((SECONDS % 60))"
printf 'pairs   adnominal explore lake=%s    (word sketches, http://127.0.0.1:8000)\n' "$lake"
printf 'report  %s\n' "$report/report.html"
printf 'runs    make ui    (MLflow, http://127.0.0.1:5000)\n'
printf 'tables  python -m etl.lake show plane_items lake=%s    (list names them all)\n' "$lake"
