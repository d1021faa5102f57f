"""The trace of a rank with a GPU, as write_torch.py describes it."""

import itertools

import on_gpus
from torch_trace import ACCUMULATE, ADAM, COLLECTIVES, COMPUTE_ARGS, FUNCTION, LAYERS, LOADER
from torch_trace import NCCL_ARGS, OPTIMIZER, SAVER, SEND_RECV, STEP_HEAD, Groups, Trace
from torch_trace import layers_of, name_of, name_of_message, us


class GpuTrace(Trace):
    def __init__(self, recording, rank, annotated):
        super().__init__(recording, rank, annotated)
        self.groups = Groups(recording, rank, "nccl")
        self.device = rank % 8
        self.autograd = self.pid + 211  # its thread
        self.correlations = itertools.count(5000)
        self.streams = set()

    def add(self, messages, collectives):
        calls = on_gpus.calls_of(self.recording, self.rank, messages, collectives)
        begins, before = {}, None
        for call in calls:
            step = call.of.step
            if step not in begins:
                begins[step] = call.begin - STEP_HEAD
                if before is not None:
                    begins[step] = max(before.end, min(begins[step], self.end_of(step - 1)))
            before = call
        self.steps(begins, max(before.end, self.jobs[-1].end) + 5000)
        for call in calls:
            if call.kind == "job":
                self.job(call)
            elif call.kind in ("send", "recv"):
                self.message(call)
            elif call.kind == "collective":
                self.collective(call)
            elif call.kind == "data" and self.shows_loading:
                self.annotation(LOADER, self.pid, call.begin, call.end)
            elif call.kind == "checkpoint" and self.shows_saving:
                self.annotation(SAVER, self.pid, call.begin, call.end)

    def end_of(self, step):
        return max(job.end for job in self.jobs if job.step == step)

    def launch(self, thread, at, call="cudaLaunchKernel", cbid=211):
        """Gives the correlation."""
        number = next(self.correlations)
        self.events.append(
            f'{{"ph":"X","cat":"cuda_runtime","name":"{call}","pid":{self.pid},"tid":{thread},'
            f'"ts":{us(at + self.shift)},"dur":2.000,"args":{{"External id":{self.id},'
            f'"cbid":{cbid},"correlation":{number}}}}},'
            f'{{"ph":"s","id":{number},"pid":{self.pid},"tid":{thread},'
            f'"ts":{us(at + self.shift)},"cat":"ac2g","name":"ac2g"}}'
        )
        return number

    def kernel(self, name, kernel, number, args):
        stream, begin, end = kernel
        self.streams.add(stream)
        time = us(begin + self.shift)
        self.events.append(
            f'{{"ph":"X","cat":"kernel","name":"{name}","pid":{self.device},"tid":{stream},'
            f'"ts":{time},"dur":{us(end - begin)},"args":{{"External id":{self.id},{args}}}}},'
            f'{{"ph":"f","id":{number},"pid":{self.device},"tid":{stream},"ts":{time},'
            f'"cat":"ac2g","name":"ac2g","bp":"e"}}'
        )

    def compute(self, name, kernel, thread, at):
        number = self.launch(thread, at)
        self.kernel(name, kernel, number, COMPUTE_ARGS % (self.device, number))

    def job(self, call):
        job = call.of
        if job.letter == "optimizer":
            self.annotation(OPTIMIZER, self.pid, call.begin, call.end)
            for at, kernel in zip(call.launches, call.kernels):
                self.op("aten::_fused_adamw_", self.pid, at - 900, at + 3300)
                self.compute(ADAM, kernel, self.pid, at)
            return
        if self.annotated:
            self.annotation(name_of(job), self.pid, call.begin, call.end)
        if job.letter != "F":
            self.backward(job, call)
            return
        if self.annotated:  # one ns before and behind, as the profiler has it
            begin, end = job.begin - 1, job.end + 1
            self.events.append(
                f'{{"ph":"X","cat":"gpu_user_annotation","name":"{name_of(job)}",'
                f'"pid":{self.device},"tid":{on_gpus.COMPUTE_STREAM},'
                f'"ts":{us(begin + self.shift)},"dur":{us(end - begin)},'
                f'"args":{{"External id":{self.id}}}}}'
            )
        self.forward(job, call)

    def forward(self, job, call):
        self.begin_forward(job)
        for layer, at, kernel in zip(LAYERS, call.launches, call.kernels):
            more = f',"Sequence number":{self.sequence},"Fwd thread id":0'
            self.op(layer[0], self.pid, at - 1200, at + 3600, more)
            if layer is LAYERS[0]:
                self.op("aten::t", self.pid, at - 1100, at - 900, more)
                self.arrow_begins(self.sequence, self.pid, at - 1100)
                self.sequence += 1
                more = f',"Sequence number":{self.sequence},"Fwd thread id":0'
            if layer[1]:
                self.op(layer[1], self.pid, at - 800, at + 3200, more)
            self.arrow_begins(self.sequence, self.pid, at - (800 if layer[1] else 1200))
            self.sequence += 1
            self.compute(layer[4], kernel, self.pid, at)

    def backward(self, job, call):
        sequences, thread = self.sequences_of(job)[::-1], self.autograd
        layers = layers_of(job)[::-1]
        for layer, first, at, kernel in zip(layers, sequences, call.launches, call.kernels):
            sequence = first + 1 if layer is LAYERS[0] else first
            more = f',"Sequence number":{sequence},"Fwd thread id":1'
            self.op(FUNCTION + layer[2], thread, at - 1200, at + 3400, more)
            self.op(layer[2], thread, at - 1000, at + 3200, more)
            self.arrow_ends(sequence, thread, at - 1000)
            self.op(layer[3], thread, at - 700, at + 3000)
            self.compute(layer[5], kernel, thread, at)
            if layer is LAYERS[0]:
                more = f',"Sequence number":{first},"Fwd thread id":1'
                self.op(FUNCTION + "TBackward0", thread, at + 3500, at + 3800, more)
                self.op("TBackward0", thread, at + 3600, at + 3700, more)
                self.arrow_ends(first, thread, at + 3600)
                if job.letter != "I":
                    self.op(FUNCTION + ACCUMULATE, thread, at + 3900, at + 4200)
                    self.op(ACCUMULATE, thread, at + 4000, at + 4100)

    def communication(self, call, operator, name, annotation, args, more=""):
        """The call of torch around the launch of a kernel of NCCL."""
        begin, thread = call.begin, self.pid
        self.op(operator, thread, begin + 300, begin + 5700)
        self.op(
            "record_param_comms",
            thread,
            begin + 600,
            begin + 5400,
            f',{args}{more},"Global rank start":0,"Global rank stride":1',
        )
        outer = self.id
        self.annotation("nccl:" + annotation, thread, begin + 900, begin + 5100)
        self.id = outer
        number = self.launch(thread, call.launches[0], "cudaLaunchKernelExC", 430)
        kernel = call.kernels[0]
        self.kernel(name, kernel, number, f"{NCCL_ARGS % (self.device, kernel[0], number)},{args}")

    def message(self, call):
        message, group = call.of, self.groups.pipeline
        is_send = call.kind == "send"
        peer = message.target if is_send else message.source
        if self.annotated:
            self.annotation(name_of_message(call.kind, message), self.pid, call.begin, call.end)
        ranks = self.groups.known[group][2]
        own, other, count = ranks.index(self.rank), ranks.index(peer), message.size // 2
        args = (
            f'"Collective name":"{call.kind}","In msg nelems":{count},"Out msg nelems":{count},'
            f'"Group size":{len(ranks)},"dtype":"BFloat16","In split size":"[]",'
            f'"Out split size":"[]",{self.groups.texts[group]},'
            f'"{"Dst" if is_send else "Src"} Rank":{peer}'
        )
        arrow = f"send {own}->{other}" if is_send else f"recv {own}<-{other}"
        operator = "c10d::send" if is_send else "c10d::recv_"
        self.communication(call, operator, SEND_RECV, arrow, args, f',"Rank":{other}')

    def collective(self, call):
        collective = call.of
        operator, annotation, name, kernel = COLLECTIVES[collective.kind]
        if self.annotated and collective.use == "gradients":
            self.annotation(f"PP:{collective.stage}REDUCE_GRAD", self.pid, call.begin, call.end)
        group, count = self.groups.of(collective), collective.size // 4
        args = (
            f'"Collective name":"{name}","In msg nelems":{count},"Out msg nelems":{count},'
            f'"Group size":{len(collective.ranks)},"dtype":"Float","In split size":"[]",'
            f'"Out split size":"[]",{self.groups.texts[group]}'
        )
        kernel = f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)"
        self.communication(call, operator, kernel, annotation, args)

    def save(self, folder):
        self.name_process(self.pid, "python3", "CPU", self.pid)
        self.name_process(self.device, "python3", f"GPU {self.device}", 5000000 + self.device)
        for thread in (self.pid, self.autograd):
            self.name_thread(self.pid, thread, f"thread {thread} (python3)", thread)
        for stream in sorted(self.streams):
            self.name_thread(self.device, stream, f"stream {stream} ", stream)
        device = {
            "id": self.device,
            "name": "NVIDIA H100 80GB HBM3",
            "totalGlobalMem": 84940685312,
            "computeMajor": 9,
            "computeMinor": 0,
            "numSms": 132,
        }
        self.save_as(folder, [device], self.groups)
