#!/usr/bin/env bash
# Fetch the jars that the tests of other engines run with from Maven's central registry, into a folder outside the
# repository: fetch.sh [SET…]; without a name all sets of pom.xml (1 GB). A set that is there is only checked.
set -euo pipefail
cd "$(dirname "$0")"
target="${ADNOMINAL_JARS:-$HOME/.cache/adnominal/jars}"
sets=("$@")
[ "${#sets[@]}" -gt 0 ] || sets=(delta delta-3.5 s3 sparknlp yarn)

command -v mvn >/dev/null || {
    echo "jars: Maven is missing; install it with: sudo apt-get install maven" >&2
    exit 1
}
for set in "${sets[@]}"; do
    sums="$PWD/sums/$set.sha256"
    [ -f "$sums" ] || {
        echo "jars: no set $set; expected $(cd sums && ls | sed 's/\.sha256$//' | xargs)" >&2
        exit 1
    }
    mkdir -p "$target/$set"
    if ! (cd "$target/$set" && sha256sum --check --quiet --strict "$sums" >/dev/null 2>&1); then
        mvn --quiet --batch-mode --file pom.xml --activate-profiles "$set" \
            org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies "-DoutputDirectory=$target/$set"
        (cd "$target/$set" && sha256sum --check --quiet --strict "$sums") || {
            echo "jars: a jar of $target/$set is not the one that was tested; delete the folder and run this again" >&2
            exit 1
        }
    fi
    echo "jars: $set in $target/$set"
done
