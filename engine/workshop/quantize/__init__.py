"""Quantised checkpoints: `python -m engine.workshop.quantize SRC DST --scheme int8|fp8`.

Weight only: activations stay bf16. Every attention and feed-forward matrix of both transformers
becomes int8 or e4m3 with one fp32 scale an output channel, unless its layer is kept; embeddings,
heads, norms and the codec stay as they are. `config.json` describes it in each transformer's
section (`engine.checkpoint.config_json.Quantization`); a matrix `X.weight` lies beside its scales
`X.weight.scale` [out, 1], as in the FP8 variants of S2-Pro that others have published. What is
made is judged by `engine.workshop.fidelity` against its source before it is put in place.
"""
