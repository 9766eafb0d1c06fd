package dev_test

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/dev"
	"linkledger/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newConfig returns a configuration with free addresses and an empty folder.
func newConfig(t *testing.T) dev.Config {
	t.Helper()
	return dev.Config{
		Serving:          config.Serving{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"},
		EventStoreListen: "127.0.0.1:0", Data: filepath.Join(t.TempDir(), "data"),
	}
}

func run(t *testing.T, c dev.Config) error {
	t.Helper()
	return dev.Run(t.Context(), c, console.Console{Stdout: io.Discard, Logger: slog.New(slog.DiscardHandler)})
}

// TestAddressesInUse checks that dev changes nothing if it cannot listen, and gives the other addresses free.
func TestAddressesInUse(t *testing.T) {
	t.Parallel()
	for flag, of := range map[string]func(*dev.Config) *string{
		"--listen":            func(c *dev.Config) *string { return &c.Listen },
		"--admin-listen":      func(c *dev.Config) *string { return &c.AdminListen },
		"--eventstore-listen": func(c *dev.Config) *string { return &c.EventStoreListen },
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			c := newConfig(t)
			*of(&c) = eventstoretest.Listen(t).Addr().String()
			if flag != "--listen" {
				free := eventstoretest.Listen(t)
				c.Listen = free.Addr().String()
				if err := free.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := run(t, c); !usage.Is(err) || !strings.Contains(err.Error(), flag) {
				t.Error(err)
			}
			if _, err := os.Stat(c.Data); !os.IsNotExist(err) {
				t.Errorf("the data folder: %v", err)
			}
			if flag == "--listen" {
				return
			}
			again, err := net.Listen("tcp", c.Listen)
			if err != nil {
				t.Fatal(err)
			}
			_ = again.Close()
		})
	}
}

func TestDataFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	c := newConfig(t)
	c.Data = filepath.Join(c.Data, "below")
	if err := run(t, c); !usage.Is(err) || !strings.Contains(err.Error(), "--data") {
		t.Error(err)
	}
}
