import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tanh = nn.Tanh()

    def forward(self, x, z):
        x = self.tanh(x)
        x = x + z
        return x


def get_inputs():
    return [torch.randn(4, 48), torch.randn(4, 48)]


def get_init_inputs():
    return []
