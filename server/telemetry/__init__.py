"""What operators see of a process: `metrics` (Prometheus) and `logs` (text or JSON lines)."""
