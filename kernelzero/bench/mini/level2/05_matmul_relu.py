import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        x = x @ w
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(8, 48), torch.randn(48, 32)]


def get_init_inputs():
    return []
