#!/usr/bin/env bash
# The whole suite: tests/run.sh PROCESSES
#
# The tests on Spark wait for their clusters half of the time, so that they run beside the others;
# their output is printed afterwards. Then follow the tests with Delta's connector.
set -euo pipefail
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"
export PATH="$PWD/.venv/bin:$PATH"

log="$(mktemp)"
ADNOMINAL_SPARK_TESTS=1 "$python" -m pytest tests/spark >"$log" 2>&1 &
spark=$!

stop_spark() {
    # An interrupt, unlike SIGTERM, lets the tests end the clusters that they have started.
    kill -INT "$spark" 2>/dev/null && wait "$spark" || true
    rm -f "$log"
}
trap stop_spark EXIT

code=0
"$python" -m pytest -n "$1" --dist loadfile --no-loadscope-reorder tests || code=$?
wait "$spark" || code=$?
cat "$log"
ADNOMINAL_SPARK_TESTS=connector "$python" -m pytest tests/connector || code=$?
exit "$code"
