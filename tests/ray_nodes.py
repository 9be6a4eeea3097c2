"""Runs a Ray cluster of two nodes on this machine and prints its address. A line on standard input kills the second
node; the end of the input ends the cluster.

    python -m tests.ray_nodes
"""

import sys
import time
from pathlib import Path


def main() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    sys.stdout.write(f"address {cluster.address}\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        raylet = second.all_processes["raylet"][0].process.pid
        workers = Path(f"/proc/{raylet}/task/{raylet}/children").read_text(encoding="ascii").split()
        cluster.remove_node(second, allow_graceful=False)
        while any(Path("/proc", worker).exists() for worker in workers):  # they outlive their node for a moment
            time.sleep(0.1)
        sys.stdout.write("killed\n")
        sys.stdout.flush()
    cluster.shutdown()


if __name__ == "__main__":
    main()
