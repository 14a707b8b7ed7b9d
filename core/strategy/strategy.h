// SPDX-License-Identifier: GPL-3.0-or-later
// A strategy is a pure function from a resolved experiment to a plan. One file a strategy.
#pragma once

#include <vector>

#include "core/collective/expand.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Everything on one device. Refuses more than one rank.
base::Result<plan::Plan> one_device(const experiment::Resolved& experiment);

// A replica of the model on every rank; gradients are summed in buckets, last layers first, while
// the backward pass of the earlier layers goes on; every rank then makes the same update
// (tf.distribute.MirroredStrategy; the buckets are those of torch DDP, Li et al. 2020). Coarse: one
// AllReduce op a bucket.
//
// A step of several micro-steps (training.accumulation_steps) adds their gradients up and reduces
// the sum: the same bytes as a step of one. With strategy.average = weights every rank updates by
// its own gradient, and it is the parameters that are summed, in the same buckets, each rank's
// times its part of the step's samples; moments stay each rank's own, and one without samples
// updates by zeros.
base::Result<plan::Plan> mirrored(const experiment::Resolved& experiment);

// torch.nn.parallel.DistributedDataParallel (Li et al. 2020): rank 0 broadcasts its parameters
// once, before the first step; then as mirrored, with the buckets in one fixed order, last layers
// first. Running statistics of batch normalisation stay each rank's own, where torch broadcasts
// them at every forward pass; the micro-steps of a step are accumulated as under torch's `no_sync`,
// always.
base::Result<plan::Plan> ddp(const experiment::Resolved& experiment);

// Mirrored over workers on several hosts, which go in lock-step
// (tf.distribute.MultiWorkerMirroredStrategy): the same plan; how the hosts are joined is the
// all-reduce algorithm's. Refuses a single host.
base::Result<plan::Plan> multi_worker_mirrored(const experiment::Resolved& experiment);

// Variables on the host's cpu alone (tf.distribute.experimental.CentralStorageStrategy): the
// devices send it their gradients, bucket by bucket; it adds them up, updates, and sends the
// parameters back. Of S bytes of parameters on n devices a step moves 2 n S, all of it through the
// storage, by star; before the first step it sends them once more. Staleness 0.
base::Result<plan::Plan> central_storage(const experiment::Resolved& experiment);

// torch.nn.DataParallel: rank 0 has the parameters and the optimizer, and alone reads data. At
// every step it hands each rank its rows of the global batch and the parameters; every rank runs
// forward; rank 0 gathers the outputs, computes the loss of all of them and hands each rank the
// rows of its gradient; the gradients of the parameters are summed on rank 0, which updates. Of S
// bytes of parameters on n ranks a step moves 2 (n - 1) S, and of every sample that is not rank 0's
// its features, its outputs and their gradients (with dropout also its number): everything from or
// to rank 0. Rank 0 alone evaluates.
base::Result<plan::Plan> data_parallel(const experiment::Resolved& experiment);

// Mirrored over TPUs, which are emulated on CPU cores (tf.distribute.TPUStrategy): the same plan.
// Gradients are all-reduced along the rows and columns of a torus (collective/torus.cpp; of a prime
// number of ranks one row, a ring), and what products take is rounded to bfloat16
// (compute::Multiplies), which a plan does not show. Refuses workers that are no TPUs, another
// algorithm, and full multiplies.
base::Result<plan::Plan> tpu(const experiment::Resolved& experiment);

// Variables on parameter servers (tf.distribute.ParameterServerStrategy; Li et al. 2014): workers
// pull, compute, push, and are answered as the servers' rule says (plan/arrivals.h). Of S bytes of
// parameters a round moves S out of a worker, and S into it. The last ranks are the servers. Which
// samples a round takes the first server says: in step those of all-reduce, else the next batch of
// the epoch, so that every sample is taken once. A worker evaluates, when told to, by the
// parameters that it has just pulled.
base::Result<plan::Plan> parameter_server(const experiment::Resolved& experiment);

// Decentralised parallel SGD (D-PSGD, Lian et al. 2017): every rank has parameters and an optimizer
// of its own. At every step it sends its parameters to its neighbours, computes its gradient at
// them meanwhile, and takes its step from the average of its own and its neighbours' parameters, by
// the weights of experiment/mixing.h. Of S bytes of parameters a rank with d neighbours sends d S a
// step; nobody waits for more than its neighbours. What is evaluated is the mean of all ranks'
// parameters, all-reduced then, with the ranks' distances from it; in the end all have it.
base::Result<plan::Plan> gossip(const experiment::Resolved& experiment);

// The same on every rank's own clock (AD-PSGD, Lian, Zhang, Zhang, Liu 2018), with one neighbour at
// a time: strategy.gossip.mode = asynchronous. The graph falls into ranks that ask and ranks that
// answer (experiment/halves.h, plan/pairing.h). In every step one that asks sends its parameters to
// one neighbour, computes its gradient at them meanwhile, and takes its step from the mean of both,
// which the neighbour sends back and has made its own. One that answers computes its gradient at
// what it had when its step began, and takes its step from what it has by then. Of S bytes of
// parameters every rank that asks sends S and is sent S a step. What is evaluated is the mean of
// all ranks, who meet for that, as in step.
base::Result<plan::Plan> asynchronous_gossip(const experiment::Resolved& experiment);

// Local SGD (McMahan et al. 2017; Stich 2019) and elastic averaging (Zhang, Choromanska, LeCun
// 2015): every rank has parameters and an optimizer of its own, and takes H steps without sending
// anything; the last of them ends with an all-reduce of the parameters to their mean, in the
// buckets of mirrored, by which each goes on as experiment/local_sgd.h says. Of S bytes of
// parameters that is the traffic of one step of mirrored in H steps. What is evaluated is the mean
// of all ranks, or the centre; in the end all have it. At every evaluation and after the last step
// all sum the mean once more, to say how far they are from it.
base::Result<plan::Plan> local_sgd(const experiment::Resolved& experiment);

// Vertical model parallelism: whole layers on ranks (experiment/stages.h), each with its own
// parameters and optimizer. A sample's outputs cross from rank to rank, and their gradients come
// back the same way; one rank works at a time, so of K ranks each idles (K - 1) / K of the time. Of
// every micro-batch a cut moves the outputs that cross it, and as much back. Ranks end with one
// n-th of the model each, and a checkpoint is of all their parts.
base::Result<plan::Plan> model_parallel(const experiment::Resolved& experiment);

// The same with several micro-batches under way at once (training.accumulation_steps of them, of
// training.batch_per_rank samples), in the order of strategy.stages.schedule (experiment/cells.h):
// GPipe (Huang et al. 2019), 1F1B (Narayanan et al. 2019) and its interleaved form (Narayanan et
// al. 2021), ZB-H1 (Qi et al. 2023). All micro-batches see the same parameters; one update ends the
// step.
base::Result<plan::Plan> pipeline(const experiment::Resolved& experiment);

// torch FullyShardedDataParallel (Zhao et al. 2023), ZeRO (Rajbhandari et al. 2020): replicas that
// take samples of their own, and of S bytes of parameters keep one n-th each, unit by unit
// (strategy.bucket_bytes), with its moments; which of the rest they keep, strategy.fsdp.shard says.
// A step gathers parameters for the forward pass, once more for the backward pass where they were
// given up after the first, and reduce-scatters gradients: 3 (n - 1) / n S in and out of a rank, 2
// (n - 1) / n S without giving up, each as often as there are micro-steps; where all parameters are
// there, they are gathered after the update: 2 (n - 1) / n S, of optimizer a step. Between passes
// at most prefetch + 1 units of parameters and two of gradients are on a rank besides its part.
// Hosts that have a whole model each (hybrid) sum what their ranks have: 2 (h - 1) / h S / n more.
// Of every segment three numbers of 8 bytes are summed besides, by which norms and updates are
// told, and one more for clipping.
base::Result<plan::Plan> fsdp(const experiment::Resolved& experiment);

// Horizontal model parallelism (Shoeybi et al. 2019, Megatron-LM): layers themselves are split
// (core/model/split.h), and all ranks take the same samples. Of every pair of layers its outputs
// are all-reduced on the way forward, and the gradient at its inputs on the way back; of logits in
// parts four numbers a row and rank are gathered (experiment/tensor.h). Of every segment three
// numbers of 8 bytes are summed besides, once a step, as in fsdp.
base::Result<plan::Plan> tensor_parallel(const experiment::Resolved& experiment);

// A mesh of data x pipeline x tensor (Narayanan et al. 2021; experiment/mesh.h): replicas that take
// samples of their own, each a pipeline of stages, whose layers are split among the ranks of a
// stage. Of the mesh 1 x n x 1 pipeline is what is left, of 1 x 1 x n tensor_parallel. Replicas
// all-reduce their gradients in buckets, each once the last backward pass has written it: what a
// rank has of S bytes of parameters moves 2 (d - 1) / d of that. With strategy.mesh.shards_data
// they share out what each place has, as fsdp does and strategy.fsdp says, unit by unit: what that
// sends in a micro-step goes with every micro-batch here. Of the mesh n x 1 x 1 fsdp is what is
// left.
base::Result<plan::Plan> hybrid(const experiment::Resolved& experiment);
base::Result<plan::Plan> rpc(const experiment::Resolved& experiment);

// The strategy that the experiment names, coarse; and as ranks run it: expanded to chunks by its
// all-reduce algorithm, or coarse still and handed to the engine that takes collectives whole
// (plan/engine_lane.h).
base::Result<plan::Plan> coarse_plan(const experiment::Resolved& experiment);
base::Result<plan::Plan> make_plan(const experiment::Resolved& experiment);

// By which its collectives are expanded, where no engine takes them.
collective::Method method(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
