"""The workload where none is named: the job and the frames of loadgen/workloads/quick.yaml."""

from market_spread.common.load.schedule import Constant
from market_spread.controller.plan.workload import FrameKeys, JobKeys, MarketKeys, WarmUpKeys, Workload

DEFAULT_WORKLOAD = Workload(
    name="default",
    seed=1,
    load=Constant(20_000, 60),
    market=MarketKeys(symbols=350, partitions=1),
    frames=FrameKeys(messages=200, linger_ms=2),
    job=JobKeys(),
    warm_up=WarmUpKeys(batches=12, duration_s=8, settle_s=5),
)
