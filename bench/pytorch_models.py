"""The training steps that bench_models measures, by PyTorch: python3 pytorch_models.py MODEL THREADS

The same models with Adam, eager, in f32.  Speaks as measure/child.h says: "ready 0 NAME" once the model is there, and
for each line read "SECONDS PEAK".
"""
import resource
import sys
import time

from pytorch_step import adam_of, torch  # tells if there is no PyTorch, or only a slow BLAS, and ends

nn = torch.nn


class Recurrent(nn.Module):
    def __init__(self, kind, vocabulary, inputs, units, both):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, inputs)
        self.layer = kind(inputs, units, batch_first=True, bidirectional=both)
        self.classes = nn.Linear(units * (2 if both else 1), 10)

    def forward(self, ids):
        return self.classes(self.layer(self.embedding(ids))[0])


def conv(inputs, features):
    return [nn.Conv2d(inputs, features, 3, padding=1, bias=False), nn.BatchNorm2d(features), nn.ReLU()]


def cnn():
    layers = conv(3, 32) + conv(32, 32) + [nn.MaxPool2d(2)]
    layers += conv(32, 64) + conv(64, 64) + [nn.MaxPool2d(2)] + conv(64, 128)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


class Blocks(nn.Module):
    """Pre-norm blocks with gelu over [B, T, d], learned positions; causal: a language model, else the mean of all."""

    def __init__(self, first, tokens, d, causal, classes):
        super().__init__()
        self.first = first
        self.positions = nn.Parameter(torch.randn(tokens, d) * d**-0.5)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 4, nn.LayerNorm(d))
        self.classes = nn.Linear(d, classes)
        mask = torch.triu(torch.full((tokens, tokens), float("-inf")), diagonal=1)
        self.register_buffer("mask", mask if causal else None)

    def forward(self, x):
        y = self.blocks(self.first(x) + self.positions, mask=self.mask)
        return self.classes(y if self.mask is not None else y.mean(1))


class Patches(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.dense = nn.Linear(48, d)

    def forward(self, x):
        return self.dense(x.permute(0, 2, 4, 1, 3, 5).reshape(len(x), 64, 48))


def ids(rows, length):
    return torch.arange(rows * length).reshape(rows, length) % 10


#         model, its input, the shape of its labels
MODELS = {
    "lstm": lambda: (Recurrent(nn.LSTM, 1000, 256, 256, False), ids(32, 64), (32, 64)),
    "gru": lambda: (Recurrent(nn.GRU, 1000, 256, 256, False), ids(32, 64), (32, 64)),
    "bilstm": lambda: (Recurrent(nn.LSTM, 1000, 100, 100, True), ids(32, 32), (32, 32)),
    "cnn": lambda: (cnn(), torch.randn(64, 3, 32, 32), (64,)),
    "gpt": lambda: (Blocks(nn.Embedding(256, 128), 128, 128, True, 256), ids(16, 128), (16, 128)),
    "vit": lambda: (Blocks(Patches(128), 64, 128, False, 10), torch.randn(32, 3, 8, 4, 8, 4), (32,)),
}


def main():
    torch.set_num_threads(int(sys.argv[2]))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    model, x, shape = MODELS[sys.argv[1]]()
    model.train()
    adam = adam_of(list(model.parameters()))
    loss_of = nn.CrossEntropyLoss()
    labels = torch.randint(10, shape).flatten()

    def step():
        adam.zero_grad(set_to_none=True)
        loss = loss_of(model(x).flatten(0, -2), labels)
        loss.backward()
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
