"""What a process of a run imports: once, in the process that the others are forked from."""

from training import launch

launch.environment()
with launch._compiler_unheard():
    import deepspeed  # noqa: F401
    import peft  # noqa: F401
