#!/bin/bash
# What must be right before the kubelet starts, at each boot: the static CPU manager does not take CPUs that come or go later.
set -euo pipefail
cat > /etc/systemd/system/market-spread-before-kubelet.service <<'UNIT'
[Unit]
Description=One thread a core, and nobody who moves interrupts or memory, before the kubelet starts
Before=kubelet.service containerd.service

[Service]
Type=oneshot
RemainAfterExit=true
ExecStart=/usr/bin/bash -c '[ ! -e /sys/devices/system/cpu/smt/control ] || grep -qE "^(off|forceoff|notsupported|notimplemented)$" /sys/devices/system/cpu/smt/control || echo off > /sys/devices/system/cpu/smt/control'
ExecStart=-/usr/bin/systemctl disable --now irqbalance.service
# Only who may do everything may write this one; the host tuner may not.
ExecStart=-/usr/sbin/sysctl -w kernel.numa_balancing=0

[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl enable --now market-spread-before-kubelet.service
