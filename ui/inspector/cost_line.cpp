// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost_line.h"

#include <QApplication>
#include <QPointer>
#include <QThreadPool>
#include <QVBoxLayout>

#include "core/strategy/strategy.h"
#include "ui/model/topology_edit.h"
#include "ui/model/verdict.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kReckonAfterMilliseconds = 200;

}  // namespace

CostLine::CostLine(Document& document, QWidget* parent)
    : QWidget(parent), document_(document), cost_(paragraph(Tint::text, this)), verdict_(paragraph(Tint::dim, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
  column->setSpacing(kGrid / 2);
  column->addWidget(cost_);
  column->addWidget(verdict_);
  cost_->setAccessibleName(tr("What the plan costs"));
  verdict_->setAccessibleName(tr("What the simulator says"));
  verdict_->hide();
  soon_.setSingleShot(true);
  soon_.setInterval(kReckonAfterMilliseconds);
  connect(&soon_, &QTimer::timeout, this, &CostLine::reckon);
  connect(&document, &Document::changed, this, [this] { soon_.start(); });
  connect(&document, &Document::file_changed, this, [this] { reckoned_.reset(), soon_.start(); });  // data files may be found elsewhere
  soon_.start();
}

// What is still being reckoned of an older experiment gives way.
void CostLine::reckon() {
  experiment::Experiment now = document_.experiment();
  now.topology = without_places(std::move(now.topology));  // a drag changes nothing here
  if (reckoned_ == now) return;
  reckoned_ = std::move(now);
  const int version = *newest_ = ++version_;
  if (!document_.has_devices()) return invite();
  QThreadPool::globalInstance()->start(
      [line = QPointer<CostLine>(this), version, newest = newest_, experiment = *reckoned_, directory = document_.directory().toStdString()] {
        if (*newest != version) return;
        const auto post = [&](auto show) {
          QMetaObject::invokeMethod(qApp, [line, show] {
            if (line) show(*line);
          });
        };
        const auto resolved = experiment::resolve(experiment, directory);
        const auto plan = resolved.and_then([](const experiment::Resolved& known) { return strategy::make_plan(known); });
        const auto cost = plan.map([&](const plan::Plan& known) { return cost_of(*resolved, known); });
        post([version, cost](CostLine& known) { known.show_cost(version, cost); });
        if (*newest != version) return;
        const QString verdict = plan ? verdict_of(*resolved, *plan).value_or(QString()) : QString();
        post([version, verdict](CostLine& known) { known.show_verdict(version, verdict); });
      });
}

void CostLine::invite() {
  cost_->set_tint(Tint::dim);
  cost_->setText(tr("Place a device, and this line says what training on the drawing would cost."));
  cost_->setToolTip({});
  verdict_->clear();
  verdict_->hide();
  emit settled();
}

void CostLine::show_cost(int version, const base::Result<Cost>& cost) {
  if (version != version_) return;
  cost_->set_tint(cost ? Tint::text : Tint::warning);
  cost_->setText(cost ? cost_line(*cost) : tr("Not ready to run: %1").arg(QString::fromStdString(cost.error().what)));
  cost_->setToolTip(cost ? tr("From the plan itself, before anything runs. Memory: parameters, gradients, optimizer and activations.") : QString());
  verdict_->setText(tr("Simulating ..."));  // what was said is of another experiment
  verdict_->setVisible(cost.has_value());
}

void CostLine::show_verdict(int version, const QString& verdict) {
  if (version != version_) return;
  verdict_->setText(verdict);
  verdict_->setVisible(!verdict.isEmpty());
  emit settled();
}

}  // namespace trainyard::ui
