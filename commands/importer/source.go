package importer

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source wraps the subscriber for Watermill's router. When the subscription ends, source
// stops the delivery immediately, but cancels messages in progress only after the drain
// time. The contexts of some subscribers' messages end with the subscription, those of
// others do not; source makes both behave alike.
type source struct {
	message.Subscriber
	drained context.Context // ends when the drain time is over
	pumped  sync.WaitGroup  // goroutines that deliver messages
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
		<-s.drained.Done()    // if it were rejected earlier, this node would claim the message again
		for msg := range in { // ends when the subscriber is closed
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
