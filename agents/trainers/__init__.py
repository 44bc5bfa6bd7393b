"""Trainers: SFT, GRPO, GiGPO and PPO on the environments that evaluation plays, one file each."""
