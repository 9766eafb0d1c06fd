package main

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"
)

// lookupTimeout bounds the question for the addresses of a name.
const lookupTimeout = 5 * time.Second

// onLoopback tells whether only this machine can connect to an address, HOST:PORT. A name has to stand for loopback alone.
func onLoopback(ctx context.Context, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" { // without a host it is every address
		return false, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	outside := func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }
	return len(ips) > 0 && !slices.ContainsFunc(ips, outside), err
}
