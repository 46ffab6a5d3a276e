package esdbtest

import (
	"context"
	"math"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// subscription sends the records after the requested position, and then new records as
// they are appended.
func (r *reading) subscription(o *streams.ReadReq_Options) error {
	match, err := filterOf(o.GetFilter())
	if err != nil {
		return err
	}
	after, err := r.start(o)
	if err != nil {
		return err
	}
	if stream := o.GetStream(); stream != nil {
		wanted, from := string(stream.GetStreamIdentifier().GetStreamName()), int64(events.NoStream)
		if at, ok := stream.GetRevisionOption().(*streams.ReadReq_Options_StreamOptions_Revision); ok {
			from = int64(min(at.Revision, math.MaxInt64))
		}
		match = func(e events.Record) bool { return e.Stream == wanted && e.Revision > from }
	}
	r.mu.Lock()
	cut := r.cut
	r.mu.Unlock()
	if err := r.send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{
		Confirmation: &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()},
	}}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.call.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-cut:
			cancel(status.Error(codes.Aborted, "fault injected by the test: the subscription was dropped"))
		case <-ctx.Done():
		}
	}()
	if err := r.follow(ctx, after, match, checkpointEvery(o.GetFilter())); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// start returns the position after which a subscription begins.
func (r *reading) start(o *streams.ReadReq_Options) (events.Position, error) {
	switch at := o.GetAll().GetPosition(); {
	case at != nil:
		p := events.Position(at.GetCommitPosition())
		return p, r.checkPosition(p)
	case o.GetAll().GetEnd() != nil, o.GetStream().GetEnd() != nil:
		head, err := r.log.Head(r.call.Context())
		if err != nil {
			return 0, statusOf(err)
		}
		return head, nil
	}
	return 0, nil
}

// checkpointEvery returns the number of records without a match after which a
// subscription gets a checkpoint.
func checkpointEvery(o *streams.ReadReq_Options_FilterOptions) int {
	if o == nil {
		return math.MaxInt
	}
	return int(max(o.GetMax(), 1) * max(o.GetCheckpointIntervalMultiplier(), 1))
}

// follow sends matching records as they are appended, checkpoints, and one CaughtUp
// message at the head.
func (r *reading) follow(ctx context.Context, after events.Position, match filter, every int) error {
	caughtUp, skipped := false, 0
	for {
		batch, through, err := r.log.ReadAll(ctx, after, page, nil)
		if err != nil {
			return statusOf(err)
		}
		for _, e := range batch {
			if skipped++; match(e) {
				skipped, err = 0, r.event(e)
			} else if skipped == every {
				skipped, err = 0, r.checkpoint(e.Position)
			}
			if err != nil {
				return err
			}
		}
		if through > after {
			after = through
			continue
		}
		if !caughtUp {
			if err := r.send(&streams.ReadResp{Content: &streams.ReadResp_CaughtUp_{CaughtUp: &streams.ReadResp_CaughtUp{}}}); err != nil {
				return err
			}
			caughtUp = true
		}
		if err := r.log.Wait(ctx, after); err != nil {
			return statusOf(err)
		}
	}
}

func (r *reading) checkpoint(p events.Position) error {
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Checkpoint_{
		Checkpoint: &streams.ReadResp_Checkpoint{CommitPosition: uint64(p), PreparePosition: uint64(p)},
	}})
}
