// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/kept_shards.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/experiment/fsdp.h"

namespace trainyard::ui {
namespace {

QString shards_text(const char* source) { return QCoreApplication::translate("shards", source); }

QString listed(const QStringList& list) {
  if (list.size() < 2) return list.join("");
  return shards_text("%1 and %2").arg(list.mid(0, list.size() - 1).join(", "), list.back());
}

}  // namespace

std::vector<KeptShard> kept_shards(const experiment::Resolved& e) {
  if (!experiment::shards(e)) return {};
  const experiment::OptimizerSpec& optimizer = e.document.training.optimizer;
  const experiment::Shard shard = e.document.strategy.fsdp.shard;
  std::vector<KeptShard> kept(static_cast<std::size_t>(e.world()));
  for (const std::vector<int>& group : experiment::shard_groups(e))
    for (std::size_t part = 0; part < group.size(); ++part)
      kept[static_cast<std::size_t>(group[part])] = {
          static_cast<int>(part), static_cast<int>(group.size()), shard == experiment::Shard::full,
          shard != experiment::Shard::optimizer,
          optimizer.kind != experiment::OptimizerKind::sgd || optimizer.momentum > 0};
  return kept;
}

QString kept_text(const KeptShard& kept) {
  QStringList shared, whole;
  (kept.parameters ? shared : whole) << shards_text("parameters");
  (kept.gradients ? shared : whole) << shards_text("gradients");
  if (kept.moments) shared << shards_text("moments");
  if (shared.isEmpty()) return shards_text("keeps all of %1").arg(listed(whole));
  const QString part = shards_text("keeps 1/%1 of %2").arg(kept.parts).arg(listed(shared));
  return whole.isEmpty() ? part : shards_text("%1, all of %2").arg(part, listed(whole));
}

}  // namespace trainyard::ui
