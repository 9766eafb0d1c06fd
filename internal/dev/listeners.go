package dev

import (
	"net"

	"linkledger/internal/address"
)

// openListeners are the open listeners of dev.
type openListeners struct {
	public, admin, events net.Listener
}

// listen opens all listeners, or none.
func (c Config) listen() (*openListeners, error) {
	var open openListeners
	for _, l := range []struct {
		listener      *net.Listener
		address, flag string
	}{
		{&open.public, c.Listen, "listen"},
		{&open.admin, c.AdminListen, "admin-listen"},
		{&open.events, c.EventStoreListen, "eventstore-listen"},
	} {
		var err error
		if *l.listener, err = address.Listen(l.address, l.flag); err != nil {
			open.close()
			return nil, err
		}
	}
	return &open, nil
}

// close closes the listeners that are open. Servers close theirs themselves, so errors are ignored.
func (l *openListeners) close() {
	for _, listener := range []net.Listener{l.public, l.admin, l.events} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
