"""The libraries that commands import: once, in the process that they are forked from."""

import importlib
import os

import torch

# As `training.launch.environment`, which belongs to the product.
if not torch.cuda.is_available():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
# No pool of compilers: its threads would not be in the forked processes.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
MODULES = (
    "deepspeed",
    # DeepSpeed imports this on first use, which takes two seconds of CPU time.
    "deepspeed.runtime.zero.muon.muon_optimizer",
    "transformers.trainer",
    "peft",
    "mlflow.pyfunc",
    "matplotlib.figure",
    "scipy.stats",
    "datasets",
    "omegaconf",
    "deltalake",
    "pyspark.sql.connect.session",
    "pysail.spark",
)
for module in MODULES:
    importlib.import_module(module)
