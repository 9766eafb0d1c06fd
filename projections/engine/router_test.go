package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
)

// endingSubscriber is a subscriber whose subscriptions end immediately.
type endingSubscriber struct{}

func (endingSubscriber) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	ended := make(chan *message.Message)
	close(ended)
	return ended, nil
}

func (endingSubscriber) Close() error { return nil }

func TestEndOfTheRouterIsAnError(t *testing.T) {
	t.Parallel()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	router.AddConsumerHandler("ends", "ends", endingSubscriber{}, func(*message.Message) error { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := runRouter(ctx, router); !errors.Is(err, ErrStopped) {
		t.Errorf("the router ended with %v", err)
	}
}
