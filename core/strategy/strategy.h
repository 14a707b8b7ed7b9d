// SPDX-License-Identifier: GPL-3.0-or-later
// A strategy is a pure function from a resolved experiment to a plan. Each strategy has its own
// file.
#pragma once

#include <vector>

#include "core/collective/expand.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Runs everything on one device. Fails for more than one rank.
base::Result<plan::Plan> one_device(const experiment::Resolved& experiment);

// Data parallelism (tf.distribute.MirroredStrategy; buckets as in torch DDP, Li et al. 2020): a
// replica of the model on every rank. Gradients are summed in buckets, last layers first,
// overlapped with the backward pass of earlier layers. Every rank then makes the same update.
// Before expansion, the plan has one AllReduce op per bucket.
//
// A step of several micro-steps (training.accumulation_steps) accumulates their gradients and
// reduces the sum, with the same bytes as a single micro-step. With strategy.average = weights,
// every rank updates with its local gradient. The parameters are then averaged in the same buckets,
// each rank's weighted by its fraction of the step's samples. Moments stay local, and a rank
// without samples updates with zero gradients.
base::Result<plan::Plan> mirrored(const experiment::Resolved& experiment);

// torch.nn.parallel.DistributedDataParallel (Li et al. 2020): rank 0 broadcasts its parameters
// once, before the first step. From then on the plan equals that of mirrored, with buckets in a
// fixed order, last layers first. There are two differences from torch. Running statistics of batch
// norm stay local, while torch broadcasts them in every forward pass. Micro-steps are always
// accumulated as under torch's `no_sync`.
base::Result<plan::Plan> ddp(const experiment::Resolved& experiment);

// Mirrored over workers on several hosts, synchronized (tf.distribute.MultiWorkerMirroredStrategy):
// the same plan; the all-reduce algorithm determines how hosts are connected. Fails for a single
// host.
base::Result<plan::Plan> multi_worker_mirrored(const experiment::Resolved& experiment);

// Variables on the host's CPU only (tf.distribute.experimental.CentralStorageStrategy). The other
// devices send their gradients to this CPU (the storage), bucket by bucket. The storage sums the
// gradients, updates, and sends the parameters back. With S bytes of parameters on n devices, a
// step transfers 2 n S bytes, all to or from the storage; before the first step the parameters are
// sent once more. Staleness is 0.
base::Result<plan::Plan> central_storage(const experiment::Resolved& experiment);

// torch.nn.DataParallel: rank 0 has the parameters and the optimizer, and is the only rank that
// reads data. In every step it sends each rank its rows of the global batch and the parameters.
// Every rank runs forward. Rank 0 gathers the outputs, computes the loss of all rows and sends each
// rank the rows of its gradient. The parameter gradients are summed on rank 0, which updates. With
// S bytes of parameters on n ranks, a step moves 2 (n - 1) S plus, for every sample on other ranks,
// its features, its outputs and their gradients (with dropout also its index), all from or to rank
// 0. Only rank 0 evaluates.
base::Result<plan::Plan> data_parallel(const experiment::Resolved& experiment);

// Mirrored over TPUs, emulated on CPU cores (tf.distribute.TPUStrategy): the same plan. Gradients
// are all-reduced along the rows and columns of a torus (collective/torus.cpp; for a prime number
// of ranks one row, a ring). Inputs of matrix products are rounded to bfloat16
// (compute::Multiplies), which a plan does not show. Fails for workers that are not TPUs, for
// another algorithm, or for products in full precision.
base::Result<plan::Plan> tpu(const experiment::Resolved& experiment);

// Variables on parameter servers (tf.distribute.ParameterServerStrategy; Li et al. 2014): workers
// pull, compute and push; the servers answer according to their rule (plan/arrivals.h). With S
// bytes of parameters, a round transfers S bytes to a worker and S from it. The last ranks are the
// servers. The first server assigns samples to rounds. Under synchronous rules a worker gets the
// samples that it would have with all-reduce. Under other rules it gets the next batch of the
// epoch, so that every sample is processed once. When a worker is told to evaluate, it uses the
// parameters that it has just pulled.
base::Result<plan::Plan> parameter_server(const experiment::Resolved& experiment);

// Decentralized parallel SGD (D-PSGD, Lian et al. 2017): every rank has parameters and an optimizer
// of its own. In every step it sends its parameters to its neighbors, and at the same time computes
// its gradient with these parameters. It averages its own and its neighbors' parameters with
// weights of the mixing matrix (experiment/mixing_matrix.h), and applies its update to the average.
// With S bytes of parameters, a rank with d neighbors sends d S bytes per step. Ranks wait only for
// their neighbors. For an evaluation, the parameters of all ranks are all-reduced to their mean,
// and each rank reports its distance from the mean. All ranks end with the mean.
base::Result<plan::Plan> gossip(const experiment::Resolved& experiment);

// Asynchronous gossip (AD-PSGD, Lian, Zhang, Zhang, Liu 2018; strategy.gossip.mode = asynchronous):
// as gossip, but each rank trains at its own speed and averages with one neighbor at a time. The
// graph is bipartite, with active and passive ranks (experiment/bipartition.h, plan/gossip_pair.h).
// In every step an active rank sends its parameters to one neighbor, and at the same time computes
// its gradient with these parameters. The neighbor replaces its own parameters by the mean of both
// and sends the mean back; the active rank applies its update to the mean. A passive rank computes
// its gradient with its parameters from the start of the step, and applies the update to its
// current parameters. With S bytes of parameters, every active rank sends and receives S bytes per
// step. Evaluation uses the mean of all ranks, which synchronize to form it, as in gossip.
base::Result<plan::Plan> asynchronous_gossip(const experiment::Resolved& experiment);

// Local SGD (McMahan et al. 2017; Stich 2019) and elastic averaging (Zhang, Choromanska, LeCun
// 2015): every rank has parameters and an optimizer of its own, and takes H steps at a time without
// communication. The last of these H steps ends with an all-reduce of the parameters to their mean,
// in the same buckets as in mirrored. experiment/local_sgd.h defines how each rank continues from
// the mean. With S bytes of parameters, H steps have the traffic of one step of mirrored. Ranks
// evaluate and end with the mean of all ranks, or with the center of elastic averaging. At every
// evaluation and after the last step the mean is computed once more, to report each rank's distance
// from it.
base::Result<plan::Plan> local_sgd(const experiment::Resolved& experiment);

// Vertical model parallelism: each rank has some full layers (experiment/stages.h), with their
// parameters and optimizer. A sample's outputs pass from rank to rank, and their gradients back.
// One rank works at a time, so each of K ranks idles (K - 1) / K of the time. For each micro-batch,
// the outputs at every boundary between ranks are sent once, and as many bytes of gradients back.
// Each rank ends with its part of the model, and a checkpoint contains all parts.
base::Result<plan::Plan> model_parallel(const experiment::Resolved& experiment);

// Pipeline parallelism: as model_parallel, with several micro-batches in progress
// (training.accumulation_steps of them, with training.batch_per_rank samples each), in the order of
// strategy.stages.schedule (experiment/cells.h): GPipe (Huang et al. 2019), 1F1B (Narayanan et al.
// 2019) and its interleaved form (Narayanan et al. 2021), ZB-H1 (Qi et al. 2023). All micro-batches
// of a step use the same parameters, and the step ends with one update.
base::Result<plan::Plan> pipeline(const experiment::Resolved& experiment);

// torch FullyShardedDataParallel (Zhao et al. 2023), ZeRO (Rajbhandari et al. 2020): replicas with
// different samples. Parameters are divided into units (strategy.bucket_bytes). Each of n ranks
// keeps a shard of 1/n of every unit, with its moments. strategy.fsdp.shard selects what else is
// sharded.
//
// Let S be the bytes of parameters. A step gathers parameters for the forward pass, gathers them
// again for the backward pass if they were freed in between, and reduce-scatters gradients. In
// every micro-step, a rank sends and receives 3 (n - 1) / n S bytes, or 2 (n - 1) / n S if
// parameters are not freed in between. If every rank keeps all parameters, they are gathered after
// the update: 2 (n - 1) / n S bytes per optimizer step. Between passes a rank holds, in addition to
// its shard, at most prefetch + 1 units of parameters and two of gradients. If each of h hosts has
// a full model (hybrid), hosts also sum their shards: 2 (h - 1) / h S / n more. For every segment,
// ranks also sum three 8-byte numbers to report norms and updates, and one more for clipping.
base::Result<plan::Plan> fsdp(const experiment::Resolved& experiment);

// Tensor (horizontal) model parallelism (Shoeybi et al. 2019, Megatron-LM): layers are split
// (core/model/split.h), and all ranks process the same samples. For every pair of split layers,
// ranks all-reduce the outputs in the forward pass, and the gradient at the inputs in the backward
// pass. If the logits are split, four numbers per row and rank are gathered (experiment/tensor.h).
// For every segment three 8-byte numbers are summed once per step, as in fsdp.
base::Result<plan::Plan> tensor_parallel(const experiment::Resolved& experiment);

// A mesh of data x pipeline x tensor (Narayanan et al. 2021; experiment/mesh.h): d replicas with
// different samples, each a pipeline of stages, whose layers are split among the ranks of a stage.
// The mesh 1 x n x 1 equals pipeline, and 1 x 1 x n equals tensor_parallel. Replicas all-reduce
// their gradients in buckets, each after the last backward pass that writes it. A rank with S bytes
// of parameters sends 2 (d - 1) / d S bytes per step. With strategy.mesh.shards_data, ranks at the
// same pipeline and tensor position shard their state, unit by unit, as fsdp does (options in
// strategy.fsdp). These ranks then send in each micro-batch as many bytes as fsdp sends in a
// micro-step. The mesh n x 1 x 1 equals fsdp.
base::Result<plan::Plan> hybrid(const experiment::Resolved& experiment);
base::Result<plan::Plan> rpc(const experiment::Resolved& experiment);

// `coarse_plan` returns the plan of the experiment's strategy, in which each collective is a single
// op. `make_plan` returns the plan that ranks run. Its collectives are expanded to sends and
// receives of chunks by the all-reduce algorithm, or stay single ops that an engine runs
// (plan/engine_lane.h).
base::Result<plan::Plan> coarse_plan(const experiment::Resolved& experiment);
base::Result<plan::Plan> make_plan(const experiment::Resolved& experiment);

// Returns the options with which collectives are expanded if no engine runs them.
collective::Method method(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
