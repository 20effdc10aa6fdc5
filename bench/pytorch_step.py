"""The training step that bench_steps measures, by PyTorch: python3 pytorch_step.py CONFIG B S T V THREADS

torch.nn.Transformer with one embedding for source, target and logits, sinusoids, dropout, label smoothing, clipping and
Adam: the model and the operations of models/.  For PyTorch 1.13 and 2.x, each with what it has to be fast on a
processor: a causal mask that attention need not read, one kernel for Adam, no axes that the layers would turn round.

Speaks as bench/child.h says: "ready 0 NAME" once the model is there, and for each line read "SECONDS PEAK".  Where
there is no PyTorch it says so and ends.
"""
import inspect
import math
import os
import resource
import sys
import time
import warnings

# A cap of the instruction set holds for both: for PyTorch's own loops, its oneDNN (convolutions) and its BLAS.
CAPS = {
    "SSE41": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "NEHALEM"},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "HASWELL"},
}
for name, value in CAPS.get(os.environ.get("WENGERT_MAX_CPU_ISA", "").upper(), {}).items():
    os.environ.setdefault(name, value)

# OpenBLAS does not know some newer processors, and takes them for old ones.
try:
    with open("/proc/cpuinfo") as f:
        if "avx512vl" in f.read():
            os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
except OSError:
    pass

try:
    import torch
    from torch import nn
except ImportError as e:
    print(f"no PyTorch ({e})")
    sys.exit(0)


def fast_blas():
    """Whether a fast BLAS is loaded: Debian's PyTorch takes whatever libblas.so.3 is, also the reference BLAS, whose
    products are some twenty times slower, and with which nothing is worth comparing."""
    try:
        with open("/proc/self/maps") as f:
            loaded = f.read().lower()
    except OSError:
        return True
    return "libblas.so" not in loaded or any(name in loaded for name in ("openblas", "libmkl", "libblis"))


if not fast_blas():
    print("PyTorch has only the reference BLAS, which is too slow to compare with: apt-get install libopenblas0-pthread")
    sys.exit(0)

#          layers, d, inner width, heads, dropout: as in models/transformer_config.c
CONFIGS = {
    "tiny": (4, 128, 256, 4, 0.3),
    "small": (6, 512, 1024, 4, 0.3),
    "base": (6, 512, 2048, 8, 0.1),
    "big": (6, 1024, 4096, 16, 0.3),
}


def sinusoids(length, d):
    position = torch.arange(length).unsqueeze(1)
    angle = position * torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    return torch.stack((angle.sin(), angle.cos()), dim=2).reshape(length, d)


class Model(nn.Module):
    """Ids [length, rows], as attention has it inside (batch_first would transpose each way); logits [T, rows, V]."""

    def __init__(self, config, vocabulary, longest):
        super().__init__()
        layers, self.d, inner, heads, dropout = CONFIGS[config]
        self.embedding = nn.Embedding(vocabulary, self.d)
        nn.init.normal_(self.embedding.weight, std=self.d**-0.5)
        self.transformer = nn.Transformer(self.d, heads, layers, layers, inner, dropout)
        for stack in (self.transformer.encoder, self.transformer.decoder):
            stack.norm = None  # the last layer ends with one
            for layer in stack.layers:
                layer.dropout.p = 0.0  # dropout after sublayers and embeddings only
                layer.self_attn.dropout = 0.0
                if hasattr(layer, "multihead_attn"):
                    layer.multihead_attn.dropout = 0.0
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoids(longest, self.d).unsqueeze(1))
        # From 2.1 on one may promise that the mask is causal; then it is neither checked nor read.
        known = inspect.signature(nn.Transformer.forward).parameters
        self.promise = {"tgt_is_causal": True} if "tgt_is_causal" in known else {}

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * math.sqrt(self.d) + self.positions[: len(ids)])

    def forward(self, source, target, mask):
        states = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask, **self.promise)
        return nn.functional.linear(states, self.embedding.weight)


def adam_of(parameters):
    """Fused where this PyTorch has that for processors (2.4); else as is, with least memory for intermediates."""
    options = {"lr": 1e-4, "betas": (0.9, 0.98), "eps": 1e-9}
    try:
        return torch.optim.Adam(parameters, fused=True, **options)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(parameters, **options)


def main():
    config = sys.argv[1]
    rows, s, t, vocabulary, threads = map(int, sys.argv[2:7])
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # they are for padding, of which there is none
    model = Model(config, vocabulary, max(s, t)).train()
    parameters = list(model.parameters())
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    adam = adam_of(parameters)
    source = torch.randint(vocabulary, (s, rows))
    target = torch.randint(vocabulary, (t + 1, rows))
    mask = torch.triu(torch.full((t, t), -math.inf), diagonal=1)

    def step():
        adam.zero_grad(set_to_none=True)
        logits = model(source, target[:-1], mask)
        loss = loss_of(logits.view(-1, vocabulary), target[1:].view(-1))
        del logits  # autograd keeps what it needs
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 25.0)
        adam.step()
        return loss.item()

    print(f"ready 0 PyTorch {torch.__version__}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        step()
        seconds = time.perf_counter() - start
        print(f"{seconds:.9g} {1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}", flush=True)


if __name__ == "__main__":
    main()
