"""torch.nn.functional.ctc_loss after log_softmax: PyTorch's own CPU kernel."""

import os

from benchmarks.peers.base import BasePeer


class Peer(BasePeer):
    title = "PyTorch"
    distributions = ("torch",)

    def __init__(self, case):
        import torch
        from torch.nn import functional

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        logits = torch.from_numpy(case.logits).requires_grad_()
        labels, label_length, logit_length = (
            torch.from_numpy(x).long() for x in (case.labels, case.label_length, case.logit_length)
        )
        ones = torch.ones(case.shape.B)

        def losses():
            log_prob = functional.log_softmax(logits, dim=-1)
            return functional.ctc_loss(
                log_prob, labels, logit_length, label_length, blank=0, reduction="none"
            )

        def training():
            loss = losses()
            loss.backward(ones)
            gradient, logits.grad = logits.grad, None
            return loss.detach(), gradient

        def evaluation():
            with torch.no_grad():
                return losses()

        self.calls = {"training": training, "evaluation": evaluation}

    def result(self):
        loss, gradient = self.calls["training"]()
        return loss.numpy(), gradient.numpy()
