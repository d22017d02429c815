"""Prompts a tiny model with many items and prints the peak of its memory in MB.

python memory_of_items.py MODEL LAKE OUT [key=value …]
"""

import resource
import sys

from adnominal import conf
from adnominal.training.asking import job
from adnominal.training.asking.settings import Settings

if __name__ == "__main__":
    model, lake, out, *more = sys.argv[1:]
    words = [f"model={model}", f"lake={lake}", f"out={out}", "tracking=none", "cache=none"]
    words += ["templates=external", "prompts=plane", "verbalisers=good/poor", "predictions=false"]
    job.CHUNK = 200
    job.prompt(conf.load(Settings, [*words, *more]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
