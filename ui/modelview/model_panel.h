// SPDX-License-Identifier: GPL-3.0-or-later
// The model of the experiment as it stands now, as a graph: what it is made of, what each part has
// and costs, and who has it. Layers are dragged from one device to another; each such move is one
// step of undo.
#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "ui/modelview/model_view.h"

class QToolButton;

namespace trainyard::ui {

class TintedLabel;

class ModelPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ModelPanel(Document& document, QWidget* parent = nullptr);
  ModelView& view() { return *view_; }
  const ModelPicture& picture() const { return view_->picture(); }
  QString totals_text() const;
  QString note_text()
      const;  // why something was refused, or what is wrong with where layers are; empty: nothing
  QString details_text() const;

  void set_seen(bool seen);  // behind another tab it leaves the canvas

  // As they are dragged to a device of the drawing; as soon as the picture is of the document as it
  // stands.
  void move_to_device(const QStringList& layers, const std::string& device);

 signals:
  void settled();  // what is shown is the newest
  void pointed(
      const std::set<std::string>& devices);  // that have what is selected, while it is looked at
  void message(const QString& text);          // for the status bar: why something was refused

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  using Move = std::function<base::Result<std::vector<int>>(const ModelPicture&)>;
  struct Wanted {
    QString what;  // for the undo stack
    Move move;
  };
  void build_bar();
  void build_foot();
  void document_changed();
  void look();
  void show_picture(int version, const ModelPicture& picture);
  void show_words();
  void show_note();
  void show_selection();
  void move(const QString& what, const Move& move);
  void do_move(const Wanted& wanted);
  void refuse(const QString& why);

  Document& document_;
  QTimer soon_;
  int version_ = 0;
  bool current_ = false;  // the picture is of the document as it stands
  bool seen_ = true;      // no other tab is in front of it
  bool moving_ = false;   // the document changes by a move, which the picture knows already
  std::optional<Wanted> wanted_;
  QString refused_;
  TintedLabel *totals_ = nullptr, *note_ = nullptr, *details_ = nullptr;
  QToolButton* overview_ = nullptr;
  ModelView* view_ = nullptr;
};

}  // namespace trainyard::ui
