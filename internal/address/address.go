package address

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"linkledger/internal/usage"
)

// Listen opens a TCP address. Its error names the flag to change.
func Listen(address, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return nil, usage.Errorf("cannot listen on %s: %w; stop what uses it or choose another "+
			"with --%s (%s)",
			address, err, flag, usage.Env(flag))
	}
	return listener, nil
}

// ForClient returns the address at which clients on this machine reach a listener.
func ForClient(listener net.Listener) string {
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// lookupTimeout bounds the lookup of a name.
const lookupTimeout = 5 * time.Second

// OnLoopback reports whether only this machine can connect to an address, HOST:PORT. If HOST is a
// name, all its addresses MUST be loopback addresses.
func OnLoopback(ctx context.Context, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" { // an empty host means all interfaces
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
