"""paddle.nn.functional.ctc_loss: warp-ctc inside PaddlePaddle, which includes the softmax."""

from benchmarks.peers.base import BasePeer


class Peer(BasePeer):
    title = "PaddlePaddle"
    distributions = ("paddlepaddle",)

    def __init__(self, case):
        import paddle
        from paddle.nn import functional

        paddle.set_device("cpu")
        logits = paddle.to_tensor(case.logits, stop_gradient=False)
        labels = paddle.to_tensor(case.labels)
        label_length, logit_length = (
            paddle.to_tensor(x.astype("int64")) for x in (case.label_length, case.logit_length)
        )

        def losses():
            return functional.ctc_loss(
                logits, labels, logit_length, label_length, blank=0, reduction="none"
            )

        def training():
            logits.clear_gradient(set_to_zero=False)
            loss = losses()
            loss.sum().backward()
            return loss, logits.grad

        def evaluation():
            with paddle.no_grad():
                return losses()

        # The tensor keeps its gradient until the next call clears it.
        self.held_bytes = case.logits.nbytes
        self.calls = {"training": training, "evaluation": evaluation}

    def result(self):
        loss, gradient = self.calls["training"]()
        return loss.numpy(), gradient.numpy()
