"""The cluster files of examples/: Ray's own validator takes them, and evalign reads every command in them."""

import re
import shlex
from pathlib import Path

import pytest

from evalign.cli.batch import run

ROOT = Path(__file__).resolve().parents[2]
FILES = ("examples/ray-cluster.yaml", "examples/ray-job.yaml", "docs/scale.md", "docs/howto/ray.md")


def test_ray_accepts_the_cluster():
    yaml = pytest.importorskip("yaml")
    util = pytest.importorskip("ray.autoscaler._private.util")
    config = yaml.safe_load((ROOT / FILES[0]).read_text("utf-8"))
    prepared = util.prepare_config(config)
    util.validate_config(prepared)
    kinds = prepared["available_node_types"]
    assert kinds["cpu_worker"]["max_workers"] == 32
    assert sum(kind.get("max_workers", 0) for kind in kinds.values()) == prepared["max_workers"]
    with pytest.raises(Exception, match="max_worker"):
        util.validate_config(prepared | {"max_worker": 3})


def test_the_kubernetes_job_is_whole():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((ROOT / FILES[1]).read_text("utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    [workers] = cluster["workerGroupSpecs"]
    for group in (cluster["headGroupSpec"], workers):
        pod = group["template"]["spec"]
        [container] = pod["containers"]
        assert cluster["rayVersion"] in container["image"]
        assert [mount["name"] for mount in container["volumeMounts"]] == [volume["name"] for volume in pod["volumes"]]
        assert container["volumeMounts"][0]["mountPath"] == "/shared"
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    assert _parsed(shlex.split(job["spec"]["entrypoint"]))["workers"] == 32


def test_rays_autoscaler_reads_the_kubernetes_cluster():
    """What KubeRay runs beside the head node: it makes its configuration from the manifest, and validates that."""
    yaml = pytest.importorskip("yaml")
    kuberay = pytest.importorskip("ray.autoscaler._private.kuberay.autoscaling_config")
    cluster = yaml.safe_load((ROOT / FILES[1]).read_text("utf-8"))["spec"]["rayClusterSpec"]
    made = kuberay._derive_autoscaling_config_from_ray_cr(
        {"metadata": {"name": "evalign-scores", "namespace": "default"}, "spec": cluster}
    )
    assert cluster["enableInTreeAutoscaling"] is True
    assert (made["max_workers"], made["idle_timeout_minutes"]) == (16, 2.0)
    nodes = {name: kind["resources"] for name, kind in made["available_node_types"].items()}
    assert nodes["headgroup"]["CPU"] == 1
    assert (nodes["workers"]["CPU"], nodes["workers"]["memory"]) == (4, 6 * 2**30)


@pytest.mark.parametrize("name", FILES)
def test_commands_can_be_read(name):
    text = re.sub(r"\\\n\s*", "", (ROOT / name).read_text("utf-8"))
    commands = re.findall(r"^(?:\$ |#.*\"|.*-- )?(evalign batch run [^\"#\n]+)", text, re.MULTILINE)
    assert commands or name.endswith("job.yaml")
    for command in commands:
        assert _parsed(shlex.split(command))["inputs"]


def _parsed(words):
    """The options of `evalign batch run`, without running it."""
    assert words[:3] == ["evalign", "batch", "run"]
    without_folder = [
        word for place, word in enumerate(words) if "--embeddings" not in words[max(0, place - 1) : place + 1]
    ]
    with run.make_context("run", without_folder[3:]) as context:
        return context.params
