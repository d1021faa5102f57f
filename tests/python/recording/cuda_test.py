"""Jobs and messages of a CUDA stream, on a made-up device (profiler/testing/fake_cuda_driver.h).

cuda_test.py DRIVER LIBRARY. The hooks of torch's stages and messages run as under torch; the stage
and the messages are made here, as there is no torch for a device that is not there.
"""

import ctypes
import os
import pathlib
import sys
import tempfile
import unittest

import ranks
from pipetrace.recording import hooks, torch_pipelining
from pipetrace.recording.session import Facts, session

WORK = 4_000_000  # ns, of a job


class Tensor:
    nbytes = 64


class Operation:
    tensor, peer = Tensor(), 1


class Stage:
    """What a stage of torch does on a device: it queues work, and goes on at once."""

    stage_index, is_last, has_backward = 1, False, True

    def forward_one_chunk(self, fwd_chunk_id, args, kwargs=None):
        driver.fakeCudaWork(stream, ctypes.c_int64(WORK))

    def backward_one_chunk(self, bwd_chunk_id, loss=None, full_backward=True):
        driver.fakeCudaWork(stream, ctypes.c_int64(2 * WORK))

    def get_fwd_recv_ops(self, chunk_id):
        return [Operation()]

    def get_fwd_send_ops(self, chunk_id):
        return [Operation()]


class Messages:
    """Functions, as a module has them."""

    def post(operations):
        return ["work"]

    def wait(works):
        driver.fakeCudaWork(stream, ctypes.c_int64(WORK))  # the stream waits


class Cuda(unittest.TestCase):
    def test_jobs_have_the_times_of_the_device_and_waits_are_apart(self):
        hooks.around(
            Stage,
            "forward_one_chunk",
            torch_pipelining._forward_begins,
            torch_pipelining._forward_ends,
        )
        hooks.job(Stage, "backward_one_chunk", torch_pipelining._backward_begins)
        for kind, name in (
            ("recv_forward", "get_fwd_recv_ops"),
            ("send_forward", "get_fwd_send_ops"),
        ):
            hooks.behind(Stage, name, torch_pipelining._tag_as(kind))
        hooks.replace(Messages, "post", torch_pipelining._noting_posts)
        hooks.replace(Messages, "wait", torch_pipelining._noting_waits)
        with tempfile.TemporaryDirectory() as folder:
            facts = Facts(rank=1, world_size=2, cuda_stream=stream, device_name="made up")
            session.mode, session.folder = "record", folder
            session.knows(lambda: facts, {1: 0})
            stage = Stage()
            for _ in range(2):
                begun = session.data_begins() if session.is_ready() else None
                session.data_ends(begun, True)
                self.assertTrue(session.step_begins())
                for micro_batch in range(2):
                    Messages.wait(Messages.post(stage.get_fwd_recv_ops(micro_batch)))
                    stage.forward_one_chunk(micro_batch, ())
                    Messages.post(stage.get_fwd_send_ops(micro_batch))
                for micro_batch in range(2):
                    stage.backward_one_chunk(micro_batch)
                session.step_ends()
            session.close()
            log = ranks.Log(pathlib.Path(folder, "workerlog.1"))
        self.assertEqual(log.meta["device"], "made up")
        self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))
        for step in range(2):
            self.assertEqual(log.actions(step), ["1F0", "1F1", "1B0", "1B1"])
        for job in log.jobs:
            work = WORK if job["type"] == "forward" else 2 * WORK
            length = job["job_end_time"] - job["job_start_time"]
            self.assertLess(abs(length - work), WORK / 2, job)
        receives, sends = log.of_kind("recv_forward"), log.of_kind("send_forward")
        forwards = {job["id"]: job for job in log.of_kind("forward")}
        self.assertEqual([message["job"] for message in sends], list(forwards))
        for message in receives + sends:
            self.assertEqual((message["peer"], message["bytes"]), (1, 64))
        of_numbers = {(job["step"], job["micro_batch_id"]): job for job in forwards.values()}
        self.assertEqual(len(receives), len(forwards))
        for message in receives:
            job = of_numbers[message["step"], message["micro_batch_id"]]
            self.assertLess(abs(message["end_time"] - message["start_time"] - WORK), WORK / 2)
            self.assertLessEqual(message["end_time"], job["job_start_time"] + WORK / 8)
        for message in sends:
            job = forwards[message["job"]]
            self.assertGreaterEqual(message["start_time"], job["job_end_time"] - WORK / 8)
        self.assertEqual([each["stream"] for each in log.of_kind("data")], ["data", "data"])
        self.assertEqual(driver.fakeCudaMisuses(), 0)


if __name__ == "__main__":
    driver = ctypes.CDLL(sys.argv[1])
    driver.fakeCudaNewStream.restype = ctypes.c_void_p
    stream = driver.fakeCudaNewStream()
    driver.fakeCudaWork.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
