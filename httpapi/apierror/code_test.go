package apierror

import (
	"testing"

	"linkledger/commands/domain"
)

func TestEveryCodeHasItsAnswer(t *testing.T) {
	t.Parallel()
	for code, answer := range definitions {
		if (answer.message == "") != (code == CodeOK) {
			t.Errorf("the message of %d is %q", code, answer.message)
		}
		if code != CodeOK && (answer.status < 400 || answer.status > 599) {
			t.Errorf("the status of %d is %d", code, answer.status)
		}
	}
	for kind := domain.InvalidURL; kind <= domain.WebhookNotFound; kind++ {
		if _, ok := codeOfKind[kind]; !ok {
			t.Errorf("kind %d of refusals has no code", kind)
		}
	}
	if got := len(codeOfKind); got != int(domain.WebhookNotFound) {
		t.Errorf("%s is %v; want %v", "kinds", got, int(domain.WebhookNotFound))
	}
}
