"""Imports the libraries of commands once, in the process from which the commands are forked."""

import importlib
import os

import torch

# As in `training.launch.environment`, which cannot be imported at this level.
if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
# Without a pool of compilers, whose threads would be missing in forked processes.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
MODULES = (
    "deepspeed",
    # DeepSpeed imports this at its first use, which takes two seconds of CPU time.
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "transformers.trainer",
    "peft",
    "mlflow.pyfunc",
    "matplotlib.figure",
    "scipy.stats",
    "sklearn.metrics",
    "statsmodels.stats.weightstats",
    "datasets",
    "omegaconf",
    "deltalake",
    "pyspark.sql.connect.session",
    "pysail.spark",
)
for module in MODULES:
    importlib.import_module(module)
