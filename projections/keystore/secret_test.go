package keystore_test

import (
	"bytes"
	"sync"
	"testing"

	"linkledger/projections/keystore/keystoretest"
)

func TestSecretIsDrawnOnce(t *testing.T) {
	t.Parallel()
	keys := keystoretest.Create(t)
	secrets := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			var err error
			if secrets[i], err = keys.Secret(keystoretest.Context(t), "visitors", 32); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, secret := range secrets {
		if len(secret) != 32 || !bytes.Equal(secret, secrets[0]) {
			t.Errorf("secret %x, want %x", secret, secrets[0])
		}
	}
	other, err := keys.Secret(keystoretest.Context(t), "other", 32)
	if err != nil || bytes.Equal(other, secrets[0]) {
		t.Errorf("another secret is %x, %v", other, err)
	}
	if _, err := keys.Secret(keystoretest.Context(t), "visitors", 16); err == nil {
		t.Error("a secret of another size was returned")
	}
	if _, err := keys.Secret(keystoretest.Context(t), "short", 8); err == nil {
		t.Error("a secret that is too short was created")
	}
}
