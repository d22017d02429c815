# One way to do each thing; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
KERNEL := etl/amod/_kernel.abi3.so
LAKE ?= lake
CASE ?= all
# Each has an engine of its own.
TEST_PROCESSES ?= 2

# Workers share the machine with each other: one thread each is faster than many that wait.
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help setup demo test test-cluster engines jars fuzz sanitize check format bench report ui wheel clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) $(KERNEL) ## virtual environment, pinned packages, parser model, WordNet, compiled kernel; JAVA=1: Java too

$(STAMP): setup.py pyproject.toml conf/constraints.txt conf/setup.sh
	@PYTHON="$(PYTHON)" bash conf/setup.sh
	@touch $(STAMP)

# Built here if a source has changed, or if there was no compiler before.
$(KERNEL): etl/amod/_kernel.c $(wildcard etl/parsing/fast/*.[ch]) | $(STAMP)
	@$(BIN)/python setup.py -q build_ext --inplace

demo: setup ## everything on the embedded corpus: tables, models, report; minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" LAKE="$(LAKE)" bash conf/demo/run.sh

test: setup ## the test suite; where Java is found, on Spark too; where the jars are, with Delta's connector
	@bash tests/run.sh $(TEST_PROCESSES)

test-cluster: setup jars ## other engines with their jars: Spark 3.5, Spark NLP, S3, YARN, HDFS, three hosts (as root); an hour
	@$(MAKE) --no-print-directory build/engines/oldest build/engines/duckdb
	@[ "$$(id -u)" != 0 ] || PATH="$(CURDIR)/$(BIN):$$PATH" bash tests/cluster/install.sh
	@PATH="$(CURDIR)/$(BIN):$$PATH" ADNOMINAL_SPARK_TESTS=cluster ADNOMINAL_TEST_SECONDS=1200 $(BIN)/python -m pytest tests/cluster
	@PATH="$(CURDIR)/$(BIN):$$PATH" ADNOMINAL_SPARK_TESTS=connector $(BIN)/python -m pytest tests/connector/test_duckdb.py tests/etl/lake/test_spark.py tests/etl/lake/test_blocks.py

jars: ## the jars that tests of other engines need (1 GB), in ADNOMINAL_JARS or ~/.cache/adnominal/jars; JARS=delta alone: 9 MB
	@bash tests/jars/fetch.sh $(JARS)

# Environments over the tested packages, in which only Spark and its like have other versions.
build/engines/%: conf/constraints-3.5.txt | $(STAMP)
	@rm -rf $@ && $(PYTHON) -m venv --system-site-packages $@
	@$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > "$$($@/bin/python -c 'import site; print(site.getsitepackages()[0])')/tested.pth"
	@$@/bin/python -m pip install --quiet --upgrade --ignore-installed --no-deps $(if $(findstring oldest,$@),-r conf/constraints-3.5.txt,pysail pyspark)
	@$@/bin/python -m pip list 2>/dev/null | grep -iE '^(pysail|pyspark|spark-nlp) '

# DuckDB's reader of Delta tables is published for an earlier DuckDB than the tested one.
build/engines/duckdb: | $(STAMP)
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip install --quiet duckdb==1.4.4 duckdb-ext-delta==1.4.4.20260205

engines: setup build/engines/oldest build/engines/newest ## the tests of engines and lake with the oldest, tested and newest Spark
	@PATH="$(CURDIR)/build/engines/oldest/bin:$$PATH" ADNOMINAL_SPARK_TESTS=connector build/engines/oldest/bin/python -m pytest -q tests/connector tests/etl/lake/test_spark.py tests/etl/lake/test_blocks.py
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q tests/etl/engine tests/etl/lake tests/etl/amod
	@build/engines/newest/bin/python -m pytest -q tests/etl/engine tests/etl/lake tests/etl/amod

fuzz: setup ## mutated input for every reader, ten minutes
	@$(BIN)/python -m tests.fuzz seconds=600

sanitize: setup ## the C extensions under sanitizers, on mutated input; the kernel against the reference
	@$(BIN)/python -m tests.fuzz.sanitized extension=kernel inputs=1000000
	@$(BIN)/python -m tests.fuzz.sanitized extension=fast inputs=100000

check: setup ## format, lint and types, changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy adnominal benchmarks tests

format: setup ## format and mend what ruff can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: setup ## measure against peers, CASE=NAME alone or all; writes benchmarks/RESULTS.md
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks $(CASE)

report: setup ## the papers' tables and figures from the lake and its runs, in report/
	@$(BIN)/python -m analysis.report lake=$(LAKE) out=report

ui: setup ## MLflow's experiments, on http://127.0.0.1:5000
	@$(BIN)/mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5000

wheel: setup ## a wheel for Python 3.11 and later on Linux, with the compiled kernel, in dist/
	@rm -rf build/lib* build/bdist* build/wheel dist
	@$(BIN)/python -m pip wheel --quiet . --no-deps --no-build-isolation --wheel-dir build/wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/adnominal-*.whl

clean: ## remove what the commands above have made, the lake of the demo included
	rm -rf .venv build dist *.egg-info etl/amod/*.so etl/parsing/fast/*.so $(LAKE) runs/demo report .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
