package importer

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// source stands between the router and a subscriber, so that delivery ends
// first and what was delivered has time to end by itself. Subscribers differ
// in this: with some the messages' contexts end with the subscription, with
// others never.
type source struct {
	message.Subscriber
	work    context.Context // ends when the time to drain is over
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
		<-s.work.Done()       // nothing is claimed meanwhile, to be given back at once
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

// Close does nothing: the subscriber is closed when the work has ended.
func (s *source) Close() error { return nil }

// tracked ends a message's context when the time to drain is over, and counts
// the message out again: the router itself stops waiting for it then.
func (s *source) tracked(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		defer s.running.Done()
		ctx, cancel := context.WithCancel(msg.Context())
		defer cancel()
		defer context.AfterFunc(s.work, cancel)()
		msg.SetContext(ctx)
		return next(msg)
	}
}
