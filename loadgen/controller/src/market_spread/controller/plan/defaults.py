"""The workload where none is named: the job and the frames of loadgen/workloads/quick.yaml."""

from market_spread.common.load.schedule import Constant
from market_spread.controller.plan.workload import Workload
from market_spread.loadgen.market.parameters import REJECTED_SHARE

DEFAULT_WORKLOAD = Workload(
    name="default",
    seed=1,
    profile=Constant(20_000, 60),
    symbols=350,
    changing_symbols=0,
    rejected_share=REJECTED_SHARE,
    order_share=0.5,
    probes_per_s=200,
    partitions=1,
    frame_messages=200,
    linger_ms=2,
    mode="real-time",
    batch_s=10,
    shuffle_partitions=1,
    driver_memory="2g",
    replicas=1,
    warm_up_batches=12,
    warm_up_s=12,
    settle_s=5,
    late_ms=10,
    late_share_max=0.001,
    p99_ms_max=None,
)
