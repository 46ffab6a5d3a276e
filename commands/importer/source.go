package importer

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source wraps the subscriber for the router. When the subscription ends, it first stops
// delivery, and cancels messages in progress only after the drain time. Subscribers differ
// in whether the contexts of their messages end with the subscription; source makes them
// behave alike.
type source struct {
	message.Subscriber
	drained context.Context // ends when the drain time is over
	pumped  sync.WaitGroup  // subscriptions
	running sync.WaitGroup  // messages in progress
}

// Subscribe delivers the messages of the subscriber until ctx ends.
func (s *source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(s.drained, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.pumped.Go(func() {
		s.pump(ctx, in, out)
		<-s.drained.Done()    // if rejected earlier, a message would be claimed by this node again
		for msg := range in { // until the subscriber is closed
			msg.Nack()
		}
	})
	return out, nil
}

func (s *source) pump(ctx context.Context, in <-chan *message.Message, out chan<- *message.Message) {
	defer close(out)
	for order := int64(1); ; order++ {
		select {
		case <-ctx.Done():
			return
		case msg, ok := <-in:
			if !ok {
				return
			}
			msg.SetContext(context.WithValue(msg.Context(), orderKey{}, order))
			s.running.Add(1)
			select {
			case out <- msg:
			case <-ctx.Done():
				s.running.Done()
				msg.Nack()
				return
			}
		}
	}
}

// Close does nothing: Run closes the subscriber.
func (s *source) Close() error { return nil }

// tracked cancels a message's context when the drain time is over, and counts the message
// as running until its handler returns.
func (s *source) tracked(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		defer s.running.Done()
		ctx, cancel := context.WithCancel(msg.Context())
		defer cancel()
		defer context.AfterFunc(s.drained, cancel)()
		msg.SetContext(ctx)
		return next(msg)
	}
}
