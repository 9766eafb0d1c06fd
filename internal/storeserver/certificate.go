package storeserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"linkledger/commands/watchedfile"
)

const (
	maxCertificate = 1 << 20 // bytes
	// certificateInterval is the least time between two looks at the files.
	certificateInterval = time.Second
)

// certificate is the certificate of a server with its key. A handshake reads the two files again if
// they have changed. Handshakes look for changes at most once a second. While the certificate and
// the key in the files do not fit each other, the former pair stays in use. A certificate is safe
// for concurrent use.
type certificate struct {
	cert, key string // paths

	mu      sync.Mutex
	files   []*watchedfile.File
	pair    *tls.Certificate
	checked time.Time
}

func readCertificate(cert, key string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, checked: time.Now()}
	for _, path := range []string{cert, key} {
		file, err := watchedfile.Open(watchedfile.Config{
			Path: path, Content: "TLS certificate", MaxSize: maxCertificate, Load: c.load,
			Logger: logger,
		})
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, file)
	}
	return c, nil
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.pair = &pair
	return nil
}

// current is the GetCertificate of a tls.Config.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= certificateInterval {
		c.checked = time.Now()
		for _, file := range c.files {
			file.Renew(context.Background())
		}
	}
	return c.pair, nil
}
