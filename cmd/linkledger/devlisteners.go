package main

import "net"

// devListeners are the open addresses of dev.
type devListeners struct {
	public, admin, events net.Listener
}

func (c devConfig) listen() (*devListeners, error) {
	var open devListeners
	for _, l := range []struct {
		listener      *net.Listener
		address, flag string
	}{
		{&open.public, c.Listen, "listen"},
		{&open.admin, c.AdminListen, "admin-listen"},
		{&open.events, c.EventStoreListen, "eventstore-listen"},
	} {
		var err error
		if *l.listener, err = listen(l.address, l.flag); err != nil {
			open.close()
			return nil, err
		}
	}
	return &open, nil
}

// close closes what is open. What was served is closed already, which is no error here.
func (l *devListeners) close() {
	for _, listener := range []net.Listener{l.public, l.admin, l.events} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
