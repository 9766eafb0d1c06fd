package main

import (
	"net"
)

// listen opens a TCP address. That it can't is for the user to mend.
func listen(address, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return nil, usage("cannot listen on %s: %w; stop what uses it or choose another with --%s (%s)",
			address, err, flag, envName(flag))
	}
	return listener, nil
}

// clientAddress is an address of a listener that clients on this machine can use.
func clientAddress(listener net.Listener) string {
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
