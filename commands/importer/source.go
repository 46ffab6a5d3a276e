package importer

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source stands between the router and a subscriber, so that closing ends
// the delivery of work before it ends the work: the router's context ends
// both at once.
type source struct {
	message.Subscriber
	work    context.Context // of the messages
	pumped  sync.WaitGroup  // deliveries
	running sync.WaitGroup  // messages delivered whose work has not ended
}

// Subscribe delivers what the subscriber does until ctx ends.
func (s *source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(s.work, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.pumped.Go(func() {
		s.pump(ctx, in, out)
		for msg := range in { // until the subscriber is closed
			msg.Nack()
		}
	})
	return out, nil
}

func (s *source) pump(ctx context.Context, in <-chan *message.Message, out chan<- *message.Message) {
	defer close(out)
	for {
		select {
		case <-ctx.Done():
			return
		case msg, ok := <-in:
			if !ok {
				return
			}
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

// Close does nothing: the subscriber is closed when the work has ended.
func (s *source) Close() error { return nil }

// tracked counts a message out again. The router itself stops waiting for
// what is in work when the drain is over.
func (s *source) tracked(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		defer s.running.Done()
		return next(msg)
	}
}
