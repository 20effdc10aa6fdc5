"""The training step that bench_steps measures, by PyTorch: python3 pytorch_step.py CONFIG B S T V THREADS

torch.nn.Transformer with one embedding for source, target and logits, sinusoids, dropout, label smoothing, clipping and Adam.
Speaks as bench/child.h says: "ready 0 NAME" once the model is there, and for each line read "SECONDS PEAK".  Where there is no
PyTorch it says so and ends.
"""
import math
import os
import resource
import sys
import time

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
    def __init__(self, config, vocabulary, longest):
        super().__init__()
        layers, self.d, inner, heads, dropout = CONFIGS[config]
        self.embedding = nn.Embedding(vocabulary, self.d)
        nn.init.normal_(self.embedding.weight, std=self.d**-0.5)
        self.transformer = nn.Transformer(self.d, heads, layers, layers, inner, dropout, batch_first=True)
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
            layer.dropout.p = 0.0  # dropout after sublayers and embeddings only
            for attention in (layer.self_attn, getattr(layer, "multihead_attn", None)):
                if attention is not None:
                    attention.dropout = 0.0
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoids(longest, self.d))

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * math.sqrt(self.d) + self.positions[: ids.shape[1]])

    def forward(self, source, target, mask):
        states = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask)
        return states @ self.embedding.weight.t()


def main():
    config = sys.argv[1]
    rows, s, t, vocabulary, threads = map(int, sys.argv[2:7])
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    model = Model(config, vocabulary, max(s, t)).train()
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, foreach=True)
    source = torch.randint(vocabulary, (rows, s))
    target = torch.randint(vocabulary, (rows, t + 1))
    mask = torch.triu(torch.full((t, t), -math.inf), diagonal=1)

    def step():
        adam.zero_grad(set_to_none=True)
        logits = model(source, target[:, :-1], mask)
        loss = loss_of(logits.reshape(-1, vocabulary), target[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 25.0)
        adam.step()
        return loss.item()

    print(f"ready 0 PyTorch {torch.__version__}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        step()
        seconds = time.perf_counter() - start
        print(f"{seconds:.9g} {1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}", flush=True)


main()
