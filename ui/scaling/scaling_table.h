// SPDX-License-Identifier: GPL-3.0-or-later
// Table of a sweep's variants with their results. Enter or a double-click on a variant opens its
// run.
#pragma once

#include <QTreeWidget>

#include "core/session/sweep/sweep.h"

namespace trainyard::ui {

class ScalingTable : public QTreeWidget {
  Q_OBJECT
 public:
  explicit ScalingTable(QWidget* parent = nullptr);

  void show_sweep(const session::Sweep* sweep, const QString& directory);  // null clears the table

 signals:
  void open_requested(const QString& run_directory);

 private:
  void fill(QTreeWidgetItem& item, const session::SweepVariant& variant,
            const std::optional<session::Scaled>& figures, const QString& directory) const;
};

}  // namespace trainyard::ui
