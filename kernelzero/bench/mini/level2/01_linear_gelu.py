import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.gelu = nn.GELU()

    def forward(self, x):
        x = self.linear(x)
        x = self.gelu(x)
        return x


def get_inputs():
    return [torch.randn(8, 32)]


def get_init_inputs():
    return [32, 48]
