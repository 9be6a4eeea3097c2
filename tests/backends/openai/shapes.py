"""What servers that no test can start tell of themselves; each says where from."""

from __future__ import annotations

from typing import Any

# What they tell of themselves. vLLM: as of 0.32. SGLang: python/sglang/srt/entrypoints/http_server.py and
# docs/basic_usage/native_api. LM Studio: lmstudio.ai/docs/developer/rest/endpoints.
VLLM = {
    "/version": {"version": "0.32.0"},
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "m",
                "object": "model",
                "created": 1,
                "owned_by": "vllm",
                "root": "/models/m",
                "parent": None,
                "max_model_len": 2048,
                "permission": [{"id": "modelperm-1", "object": "model_permission", "created": 1}],
            }
        ],
    },
}
SGLANG = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "m",
                "object": "model",
                "created": 1,
                "owned_by": "sglang",
                "root": "m",
                "parent": None,
                "max_model_len": 2048,
            }
        ],
    },
    "/server_info": {"model_path": "/models/m", "api_key": None, "version": "0.5.9", "internal_states": [{}]},
    "/model_info": {
        "model_path": "/models/m",
        "tokenizer_path": "/models/m",
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "has_image_understanding": True,
        "has_audio_understanding": False,
    },
}
LM_STUDIO = {
    "/api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "other",
                "object": "model",
                "type": "llm",
                "state": "not-loaded",
                "max_context_length": 131072,
            },
            {
                "id": "m",
                "object": "model",
                "type": "vlm",
                "publisher": "mlx-community",
                "arch": "qwen2_vl",
                "compatibility_type": "mlx",
                "quantization": "4bit",
                "state": "loaded",
                "max_context_length": 32768,
                "loaded_context_length": 2048,
            },
        ],
    }
}
TOLD: dict[str, dict[str, Any]] = {"vllm": VLLM, "sglang": SGLANG, "lmstudio": LM_STUDIO}
