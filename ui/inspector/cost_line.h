// SPDX-License-Identifier: GPL-3.0-or-later
// The live line above the inspector: what the plan costs before it runs, and what the simulator makes of it. Reckoned on a
// thread of the pool, shortly after the last change; the newest experiment wins.
#pragma once

#include <QTimer>
#include <QWidget>
#include <atomic>
#include <memory>
#include <optional>

#include "ui/inspector/cost.h"
#include "ui/model/document.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

class CostLine : public QWidget {
  Q_OBJECT
 public:
  explicit CostLine(Document& document, QWidget* parent = nullptr);
  QString cost_text() const { return cost_->text(); }
  QString verdict_text() const { return verdict_->isHidden() ? QString() : verdict_->text(); }

 signals:
  void settled();  // of the newest experiment everything is known

 private:
  void reckon();
  void invite();
  void show_cost(int version, const base::Result<Cost>& cost);
  void show_verdict(int version, const QString& verdict);

  Document& document_;
  QTimer soon_;
  std::optional<experiment::Experiment> reckoned_;  // the newest, wherever its things stand
  int version_ = 0;
  std::shared_ptr<std::atomic<int>> newest_ = std::make_shared<std::atomic<int>>(0);  // the same, for the threads
  TintedLabel *cost_, *verdict_;
};

}  // namespace trainyard::ui
