# syntax=docker/dockerfile:1
# Two images of one build: `worker` runs jobs on the embedded engine and nodes of a Spark cluster;
# `demo` adds what training and analysis need, and runs everything on the embedded corpus.
#   docker build --target worker -t adnominal-worker .
#   docker build --target demo -t adnominal-demo .
FROM python:3.11-slim-bookworm AS base
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev make openjdk-17-jre-headless \
        procps tini wordnet-base wordnet-sense-index \
    && rm -rf /var/lib/apt/lists/*
ENV JAVA_HOME=/usr/lib/jvm/default-java \
    PYSPARK_PYTHON=/usr/local/bin/python \
    SPARK_HOME=/usr/local/lib/python3.11/site-packages/pyspark \
    PYTHONUNBUFFERED=1
RUN ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" /usr/lib/jvm/default-java
WORKDIR /opt/adnominal
COPY conf/constraints.txt conf/constraints.txt

FROM base AS worker
COPY setup.py pyproject.toml README.md LICENSE ./
COPY adnominal adnominal
COPY conf conf
COPY etl etl
COPY training training
COPY analysis analysis
RUN pip install --no-cache-dir -c conf/constraints.txt ".[spacy,corpora]" \
    && python setup.py build_ext --inplace
RUN useradd --create-home --uid 1000 adnominal
USER 1000
ENTRYPOINT ["tini", "--"]
CMD ["python", "etl/extract_amod.py", "--help"]

FROM base AS demo
COPY . .
RUN make setup
RUN useradd --create-home --uid 1000 adnominal && chown -R 1000 /opt/adnominal
USER 1000
ENTRYPOINT ["tini", "--"]
CMD ["make", "demo"]
