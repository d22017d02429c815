#!/usr/bin/env bash
# Install the package as docs/cluster.md says, with its wheel at /opt/adnominal, and pack that environment: for the tests
# of several hosts and of YARN. /opt is a folder of the build for this script alone, which needs root for that. DeepSpeed's
# launcher needs ssh and pdsh: the tests start servers of their own, on hosts of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
target="$PWD/build/engines"
if [ "${1:-}" != inside ]; then
    if [ ! -x /usr/sbin/sshd ] || ! command -v pdsh >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server pdsh >/dev/null
        systemctl disable --now ssh 2>/dev/null || true
    fi
    mkdir -p "$target/hosts"
    make --no-print-directory wheel
    exec unshare -m "$0" inside
fi
mount --bind "$target/hosts" /opt
if [ ! -x /opt/adnominal/bin/venv-pack ]; then
    python3.11 -m venv /opt/adnominal
    /opt/adnominal/bin/pip install --quiet -c conf/constraints.txt "$(ls dist/adnominal-*.whl)[spacy]" venv-pack
fi
/opt/adnominal/bin/pip install --quiet --force-reinstall --no-deps "$(ls dist/adnominal-*.whl)"
/opt/adnominal/bin/venv-pack --quiet --force --compress-level 1 -p /opt/adnominal -o "$target/packed.tar.gz"
